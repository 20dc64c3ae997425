"""torch.compile compiles the same frames, and compiled autograd captures as often."""

import torch
import torch._dynamo
import torch._dynamo.compiled_autograd
from _witness import bits, counters

torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.layer(x)) + x


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


model = torch.nn.Sequential(Block(), Block(), torch.nn.Dropout(0.5))
x = torch.randn(2, 4)
for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    for size in (2, 2, 3, 4):
        compiled(torch.randn(size, 4)).sum().backward()
    print(backend, counters(), bits(*(one.grad for one in model.parameters())))


@torch.compile(backend="eager")
def breaks(x):
    y = Double.apply(x).sin()
    torch._dynamo.graph_break()
    if y.sum() > 0:
        y = y * 2
    return model(y)


breaks(x.clone().requires_grad_()).sum().backward()
print("breaks", counters())


def with_hooks(x):
    y = x.sin()
    y.register_hook(lambda gradient: gradient * 3)
    return y * 2


torch._dynamo.reset()
hooked = torch.nn.Linear(4, 4)
hooked.register_full_backward_hook(lambda module, passed, received: None)
for work in (with_hooks, hooked):
    compiled = torch.compile(work, backend="eager")
    leaf = x.clone().requires_grad_()
    for _ in range(2):
        compiled(leaf).sum().backward()
    print("hooks inside", counters(), bits(leaf.grad))
layer = torch.compile(torch.nn.Linear(4, 4), backend="eager")
y = layer(x)
y.register_hook(lambda gradient: gradient * 2)
y.sum().backward()
print("module", counters())


def compile_backward(graph):
    print(len(list(graph.graph.nodes)))
    return torch.compile(graph, backend="eager", fullgraph=True)


def inner(gradient):
    return gradient * 2


torch._dynamo.reset()
for _ in range(3):
    with torch._dynamo.compiled_autograd._enable(compile_backward):
        y = model(x)
        y.register_hook(inner)
        y.sum().backward()
print("compiled autograd", counters(), bits(*(one.grad for one in model.parameters())))


@torch.compile(backend="eager")
def train(x):
    loss = model(x).square().sum()
    loss.backward()
    return loss


torch._dynamo.reset()
with torch._dynamo.config.patch(compiled_autograd=True):
    for _ in range(2):
        train(x)
print("with its backward", {name: counts for name, counts in counters().items() if name == "compiled_autograd"})
exported = torch.export.export(model.eval(), (x,))
print(exported.graph.__str__().count("call_function"), bits(exported.module()(x)))
