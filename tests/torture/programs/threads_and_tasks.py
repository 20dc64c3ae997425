"""Threads, pools and asyncio tasks that run forwards and backwards; nested engines; no thread but the script's."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from _witness import bits

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
lock = threading.Lock()
variable = contextvars.ContextVar("variable", default="default")
together = threading.Barrier(4)  # a pool starts no thread while one of its own has nothing to do


def work(number):
    x = torch.full((2, 4), float(number), requires_grad=True)
    for _ in range(20):
        torch.autograd.grad(model(x).sum(), x, retain_graph=True)
    with lock:
        return number, bits(*torch.autograd.grad(model(x).sum(), x))


def work_together(number):
    together.wait()
    return work(number)


with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(work_together, range(8))))
    print(sorted(thread.name for thread in threading.enumerate()))
thread = threading.Thread(target=lambda: model(torch.ones(1, 4)).sum().backward(), daemon=True)
thread.start()
thread.join()
print(bits(*(one.grad for one in model.parameters())))
y = model(torch.ones(1, 4)).sum()
other = threading.Thread(target=y.backward)
other.start()
other.join()


async def task(number):
    variable.set(number)
    loss = model(torch.full((1, 4), float(number))).sum()
    await asyncio.sleep(0)
    loss.backward()
    await asyncio.sleep(0)
    return variable.get(), await asyncio.to_thread(work, number)


async def main():
    return await asyncio.gather(*(task(number) for number in range(4)))


print(asyncio.run(main()))


class Deep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        if ctx.depth == 0:
            return gradient * 2, None
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            Deep.apply(inner, ctx.depth - 1).sum().backward()
        return inner.grad, None


x = torch.ones(1, requires_grad=True)
Deep.apply(x, 80).backward()
print(bits(x.grad), [thread.name for thread in threading.enumerate()], threading.active_count())


class Subclass(threading.Thread):
    def run(self):
        work(1)
        raise SystemExit


one = Subclass(name="mine")
one.start()
one.join()
print(one.name, one.is_alive(), threading.Thread._bootstrap_inner.__name__)
