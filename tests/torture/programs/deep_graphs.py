"""Graphs of fifty thousand nodes in a row: one that nothing runs, one that is run, one that lives to the end."""
# details: nodes

import torch

DEPTH = 50_000


def chain(start: torch.Tensor) -> torch.Tensor:
    """A value that was computed step by step."""
    value = start.clone()
    for _ in range(DEPTH):
        value = value + 1e-6
    return value


start = torch.zeros(1, requires_grad=True)
value = chain(start)
del value
print("dropped")

value = chain(start)
value.backward()
print(start.grad)
del value
print("run and dropped")

value = chain(start)
print(torch.autograd.grad(value, start, retain_graph=True))
