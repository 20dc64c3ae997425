"""Tracebacks that the script formats itself."""
# details: nodes

import io
import logging
import traceback

import torch

stream = io.StringIO()
logging.basicConfig(stream=stream, level=logging.DEBUG, format="%(levelname)s %(message)s")
model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(3, 3)))


def mutated():
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    (y * 2).sum().backward()


def twice():
    y = torch.ones(2, requires_grad=True).exp()
    for _ in range(2):
        y.sum().backward()


def leaf():
    x = torch.ones(2, requires_grad=True)
    x.retain_grad()
    torch.ones(2).retain_grad()


def hooked():
    y = torch.ones(2, requires_grad=True).exp()
    y.register_hook(lambda gradient: gradient.view(7))
    y.sum().backward()


def module_hooked():
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, passed, received: (1 / 0,))
    layer(torch.ones(1, 2, requires_grad=True)).sum().backward()


def gradient():
    return torch.autograd.grad(torch.ones(2, requires_grad=True).sum(), torch.ones(2, requires_grad=True))


for fail in (lambda: model(torch.ones(4)), mutated, twice, leaf, hooked, module_hooked, gradient):
    try:
        fail()
    except Exception:
        print(traceback.format_exc())
        logging.exception("logged")
print(stream.getvalue())
