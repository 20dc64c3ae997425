"""Sparse, nested, quantised, complex, meta and subclass tensors, views and functional tensors."""

import torch
from _witness import bits
from torch.utils._pytree import tree_map

torch.manual_seed(0)
dense = torch.randn(3, 3, requires_grad=True)
sparse = torch.eye(3).to_sparse()
torch.sparse.mm(sparse, dense).sum().backward()
leaf = torch.eye(3).to_sparse().requires_grad_()
torch.sparse.mm(leaf, torch.ones(3, 3)).sum().backward()
print(bits(dense.grad, leaf.grad.to_dense()))
rows = torch.nn.Embedding(5, 2, sparse=True)
for _ in range(2):
    rows(torch.tensor([1, 1, 3])).sum().backward()
print(bits(rows.weight.grad.to_dense()))
(torch.eye(3).to_sparse_csr() @ dense).sum().backward()
nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged, requires_grad=True)
torch.nn.functional.gelu(nested).to_padded_tensor(0.0).sum().backward()
print(nested.is_nested, bits(nested.grad.values()))
strided = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], requires_grad=True)
(strided * 2).to_padded_tensor(0.0).sum().backward()
print(bits(strided.grad.to_padded_tensor(0.0)))
number = torch.randn(3, dtype=torch.complex64, requires_grad=True)
(number * number.conj()).abs().sum().backward()
print(bits(torch.view_as_real(number.grad)))
torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).dequantize()
base = torch.zeros(4, requires_grad=True)
clone = base.clone()
view = clone[1:3]
view.mul_(2)
clone.t_() if False else clone.view(2, 2).add_(1)
view.exp_()
clone.sum().backward()
print(bits(base.grad), view.grad_fn.name())
print(bits(*(function(2, dense) for function in (torch.add, torch.mul, torch.sub, torch.div))))  # a number comes first
torch._foreach_mul_([clone.detach(), base.detach()], 2.0)


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, operator, types, arguments=(), keywords=None):
        seen.append(str(operator))
        inner = tree_map(lambda one: one.inner if isinstance(one, cls) else one, arguments)
        output = operator(*inner, **(keywords or {}))
        return tree_map(lambda one: cls(one) if isinstance(one, torch.Tensor) else one, output)


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        seen.append(function.__name__)
        return super().__torch_function__(function, types, arguments, keywords or {})


for one in (Wrapped(torch.ones(2)), torch.ones(2).as_subclass(Named)):
    seen = []
    one.requires_grad_()
    (one * 2).sum().backward()
    print(type(one).__name__, seen, type(one.grad).__name__)
