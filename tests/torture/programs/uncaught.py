"""An exception that nobody catches: through modules, an operator, a hook and a checkpoint, with causes and groups."""

import threading

import torch
from torch.utils.checkpoint import checkpoint


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


model = torch.nn.Sequential(Inner())


def hook(gradient):
    return gradient @ torch.ones(7)


def in_a_hook():
    y = model(torch.ones(2, 3)) * 2
    y.register_hook(hook)
    y.sum().backward()


def in_a_checkpoint():
    checkpoint(model, torch.ones(5), use_reentrant=False)


for work in (in_a_hook, in_a_checkpoint, lambda: torch.func.grad(lambda x: (x @ torch.ones(9)).sum())(torch.ones(3))):
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
try:
    model(torch.ones(5))
except RuntimeError:
    try:
        in_a_hook()
    except RuntimeError as second:
        raise ValueError("both") from second
