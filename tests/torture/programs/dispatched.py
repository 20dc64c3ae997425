"""What torch does otherwise as soon as a dispatch mode is on, one place after the other."""

import torch
import torch.autograd.forward_ad as fw
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode


class Plain(torch.Tensor):
    pass


seen = []


class Dispatching(torch.Tensor):
    def __new__(cls, data):
        return torch.Tensor._make_subclass(cls, data)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        with torch.overrides.enable_reentrant_dispatch():
            torch.rand(1, requires_grad=True).exp()
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


class Unwrapped(Dispatching):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


class Silent(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        Through.buffer = g._values().data_ptr()
        return g, g


x = torch.arange(6.0).reshape(2, 3)
print(type(Plain(x)).__name__, Plain(x) + 1, type(Plain([1.0, 2.0])).__name__, type(Plain(2, 3)).__name__)
print(type(x.as_subclass(Plain)).__name__, type(torch.nn.Parameter(x)).__name__)

print(torch.ones(4, 2, 3, requires_grad=True)[:, :1].reshape(4, 3).grad_fn.name())
print(torch.jit.trace(lambda t: t * 2 + 1.5, torch.rand(3, 4))(torch.ones(2)))

for requires_grad in (True, False):
    copy = torch.ones(1, 2, 3, requires_grad=requires_grad).clone()
    with torch.inference_mode():
        view = copy.view_as(copy)
    try:
        view.add_(2)
        print("written")
    except RuntimeError as error:
        print(str(error)[:70])

with fw.dual_level():
    fw.make_dual(Dispatching(torch.tensor(1.0)), torch.rand_like(Dispatching(torch.tensor(2.0))))
with Silent(), Silent():
    print(torch.tensor([1, 2]) * 2, Unwrapped(torch.ones(2)).sum().item())
print(seen)

a, b = (torch.randn(10, 3, requires_grad=True) for _ in range(2))
summed = Through.apply(a, b)
F.embedding_bag(torch.tensor([1, 2, 4, 5]), summed, torch.tensor([0, 2]), sparse=True).sum().backward()
buffers = [one.grad._values().data_ptr() for one in (a, b)]
print("buffers", buffers[0] != buffers[1], "taken over", Through.buffer in buffers)

library = torch.library.Library("torture", "FRAGMENT")  # an operator that is younger than the recording
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda one: one * 2, "CompositeExplicitAutograd")
print(torch.ops.torture.twice(torch.ones(2)), torch.ops.torture.twice(Unwrapped(torch.ones(2))).sum().item())
