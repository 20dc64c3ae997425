"""Classes of tensors with a `__torch_function__`: what they are asked, in forwards, in backwards and by optimizers."""

import collections

import torch
from _witness import bits, checkpoint

torch.manual_seed(0)
asked = collections.Counter()


def name_of(function):
    return getattr(function, "__qualname__", None) or str(function)


class Plain(torch.Tensor):
    """As torch's documentation has it: what is computed with it is of its class."""


class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        asked[name_of(function)] += 1
        return super().__torch_function__(function, types, arguments, keywords or {})


class Weight(torch.nn.Parameter):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        asked[name_of(function)] += 1
        with torch._C.DisableTorchFunctionSubclass():
            return function(*arguments, **(keywords or {}))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Weight(torch.randn(4, 4))
        self.bias = torch.nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return torch.nn.functional.layer_norm(torch.relu(x @ self.weight + self.bias) * self.weight.mean(), (4,))


for kind in (Plain, Asked):
    left, right = (torch.randn(3).as_subclass(kind).requires_grad_() for _ in range(2))
    product = (left * right * right).exp()
    with torch._C.DisableTorchFunctionSubclass():
        print(kind.__name__, type(product * 2).__name__)
    torch.autograd.backward(product.as_subclass(torch.Tensor).sum())
    print(type(left.grad).__name__, bits(left.grad.as_subclass(torch.Tensor)))
    left.grad.as_subclass(torch.Tensor).mul_(2)
    kept = left.detach().as_subclass(torch.Tensor)
    (gradient,) = torch.autograd.grad((right * kept).sum().as_subclass(torch.Tensor), right)
    print(type(gradient).__name__, sorted(asked.items()))

model = Model()
optimizer = torch.optim.Adam(model.parameters(), 0.1)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(2, 4).as_subclass(Plain)).square().mean().backward()
    optimizer.step()
print(bits(model.weight, model.bias), type(model.weight.grad).__name__)
print(sorted(asked.items()))
del left, right, product, kept, gradient
checkpoint("end")
