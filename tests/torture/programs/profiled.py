"""The script's own profile shows its operators, each once, and none of ours (a number's conversion is missing)."""

import os

import torch
from torch.autograd.profiler import profile, record_function

os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch writes times there


def named(x):
    with record_function("named"):
        return x * 2


def forked(x):
    with record_function("outer"):
        return torch.jit._wait(torch.jit._fork(traced, x)) * 2


traced = torch.jit.trace(named, torch.rand(3, 4))
both = torch.jit.trace(forked, torch.rand(3, 4))
with profile() as seen:
    both(torch.rand(3, 4))
# Whether the fork's own event is there, is a race of torch: its thread may end after the result is there.
print(sorted(event.name for event in seen.function_events if event.name != "<forked function>"))

layer = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(3):
    with profile() as seen:
        loss = layer(torch.ones(2, 3)).exp().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(sorted(event.name for event in seen.function_events))

with profile() as seen:
    losses = [layer(torch.ones(2, 3)).exp().mean() for _ in range(2)]
    total = torch.tensor(losses)
    last = torch.tensor([losses[0], 0.5])
print(sorted(event.name for event in seen.function_events))
