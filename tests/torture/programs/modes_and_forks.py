"""A fork in the middle of things: inside a dispatch mode, a backward, a module, several threads, and with warnings."""

import os
import threading
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("always")
seen = []


class Mine(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        seen.append(str(operator))
        return operator(*arguments, **(keywords or {}))


def forked(name, work=lambda: None):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        work()
        x = torch.ones(2, requires_grad=True)
        before = len(seen)
        (x * 2).sum().backward()
        os.write(writer, f"{name} {x.grad.tolist()} {seen[before:]}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        print(stream.read(), os.waitpid(child, 0)[1])


forked("plainly")
with Mine():
    forked("in a mode")
    with Mine():
        forked("in two modes")
    torch.ones(2).add_(1)
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda gradient: forked("in a hook"))
y.sum().backward()


class Forks(torch.nn.Module):
    def forward(self, x):
        forked("in a module")
        return x * 2


Forks()(x).sum().backward()


class ForksInside(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        forked("in an operator")
        return operator(*arguments, **(keywords or {}))


with ForksInside():
    torch.ones(1)
thread = threading.Thread(target=lambda: forked("in a thread"))
thread.start()
thread.join()
with Mine():
    seen.clear()
    (x * 2).sum().backward()
    print(seen)
