"""The script's own profile shows its operators, each once, and none of ours (a number's conversion is missing)."""

import os
import threading

import torch
from torch.autograd.profiler import profile, record_function

os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch writes times there
torch.set_num_interop_threads(1)


def named(x):
    with record_function("named"):
        return x * 2


def forked(x):
    with record_function("outer"):
        return torch.jit._wait(torch.jit._fork(traced, x)) * 2


traced = torch.jit.trace(named, torch.rand(3, 4))
both = torch.jit.trace(forked, torch.rand(3, 4))
values = torch.rand(3, 4)
# A fork's result is there before its event has ended, and torch (2.13) crashes now and then where the profile ends
# meanwhile and Python runs in the fork, with gradscope or by itself (docs/transparency.md). So the one thread that runs
# forks is given another, which nobody profiles: when that has a result, the first has ended.
another = threading.Thread(target=both, args=(values,))
with profile() as seen:
    both(torch.rand(3, 4))
    another.start()
    another.join()
print(sorted(event.name for event in seen.function_events))

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
