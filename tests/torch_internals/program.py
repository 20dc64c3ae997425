"""A program that does one of everything, and prints what it got to the last bit."""

import threading

import torch
from torch.utils.checkpoint import checkpoint


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x**3 * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x**2, None


def tell(what, tensor):
    print(what, [value.hex() for value in tensor.detach().flatten().tolist()])


def train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Hardtanh(-0.9, 0.9, inplace=True), torch.nn.Linear(4, 2)
    )
    model[0].register_full_backward_hook(lambda module, inputs, outputs: None)
    handle = model[3].weight.register_hook(lambda gradient: gradient * 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        hidden = checkpoint(model[:3], torch.randn(5, 3), use_reentrant=False)
        hidden.retain_grad()
        loss = Cube.apply(model[3](hidden), 0.5).abs().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(step, float(loss).hex(), float(hidden.grad.sum()).hex())
    print("handle", handle.id)
    return model


def elsewhere(model):
    x = torch.ones(2, 3, requires_grad=True)
    model(x).sum().backward()
    tell("in a thread", x.grad)


model = train()
thread = threading.Thread(target=elsewhere, args=(model,))
thread.start()
thread.join()
print(thread.name)
x = torch.linspace(0, 1, 3, requires_grad=True)
(first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
first.sum().backward()
tell("second derivative", x.grad)
tell("grad of Cube", torch.func.grad(lambda one: Cube.apply(one, 2.0).sum())(torch.ones(2)))
tell("vmap", torch.func.vmap(torch.func.grad(lambda one: one.sin().sum()))(torch.ones(2, 2)))
try:
    y = torch.ones(2, requires_grad=True).exp()
    y.mul_(2)
    y.sum().backward()
except RuntimeError as error:
    print(error)
print(torch.ones(2, requires_grad=True).exp().grad_fn._sequence_nr(), torch.rand(1).item().hex())
