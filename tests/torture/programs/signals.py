"""Signal handlers that raise: each of 1,000 timeouts reaches the script, wherever it strikes."""

import random
import signal

import torch
from _witness import bits

model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
model[1].register_full_backward_hook(lambda module, passed, received: None)
x = torch.ones(2, 3)
chance = random.Random(0)
kinds = (TimeoutError, RuntimeError, ValueError, KeyboardInterrupt, type("Mine", (Exception,), {}), AttributeError)
raised = caught = 0


class Handler:
    def __call__(self, number, frame):
        global raised
        raised += 1
        del frame  # a handler may do this
        raise kinds[raised % len(kinds)]("time is up")


signal.signal(signal.SIGALRM, Handler())


def work():
    y = model(x)
    y.register_hook(lambda gradient: gradient * 2)
    y.retain_grad()
    y.square().sum().backward()
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(leaf).exp().sum(), leaf, create_graph=True)
    slope.sum().backward()


def until_a_timeout():
    global caught
    before = raised
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(2e-5, 4e-3))
            while raised == before:
                work()
            print("lost")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except kinds as error:
        caught += str(error) == "time is up"


for _ in range(1000):
    until_a_timeout()
print(raised, caught)
model.zero_grad()
y = model(x)
y.sum().backward()
print(bits(*(one.grad for one in model.parameters())), y._backward_hooks)
print(torch.is_anomaly_enabled(), torch._C._current_graph_task_id())
