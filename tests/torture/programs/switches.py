"""Autocast, inference mode, no_grad, grad modes, deterministic algorithms, saved-tensor hooks."""

import torch
from _witness import bits

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
x = torch.randn(3, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = model(x)
    loss = y.float().square().sum()
loss.backward()
print(y.dtype, bits(*(one.grad for one in model.parameters())))
with torch.inference_mode():
    y = model(x)
    y.add_(1)
    print(y.is_inference(), y.requires_grad, bits(y))
with torch.no_grad():
    print(model(x).requires_grad)
    with torch.enable_grad():
        print(model(x).requires_grad)
torch.set_grad_enabled(False)
print(model(x).requires_grad)
torch.set_grad_enabled(True)

packed = []


def pack(tensor):
    packed.append(tuple(tensor.shape))
    return tensor.numpy(force=True).copy()


def unpack(array):
    packed.append("unpacked")
    return torch.from_numpy(array)


with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    loss = model(x).exp().sum()
loss.backward()
print(packed, bits(*(one.grad for one in model.parameters())))
with torch.autograd.graph.save_on_cpu():
    model(x).exp().sum().backward()
with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    model(x).exp().sum().backward()
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            model(x)
    except RuntimeError as error:
        print(error)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = torch.ones(2, requires_grad=True).exp()
    z = y * 2
    y.mul_(3)
    z.sum().backward()
with torch.autograd.set_multithreading_enabled(False):
    model(x).sum().backward()
with torch.autograd.forward_ad.dual_level():
    dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
    print(bits(torch.autograd.forward_ad.unpack_dual(model(dual)).tangent))
torch.use_deterministic_algorithms(True)
model(x).sum().backward()
print(bits(*(one.grad for one in model.parameters())))
with torch.device("meta"):
    meta = torch.nn.Linear(3, 3)
meta(torch.ones(2, 3, device="meta")).sum().backward()
print(meta.weight.grad.device)
