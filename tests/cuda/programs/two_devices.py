"""Half a model on the host, half on the device: two threads of the engine, and hooks that say which one they ran in."""

import threading

import torch
from _bits import bits
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(16, 32), nn.Linear(32, 16).cuda()
tail = nn.Linear(16, 1)
main, ran = threading.current_thread(), []


def where(name):
    return lambda *of: ran.append((name, "caller" if threading.current_thread() is main else "another"))


for each, name in ((first, "first"), (second, "second"), (tail, "tail")):
    each.weight.register_post_accumulate_grad_hook(where(name))
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters(), *tail.parameters()], 0.05)
for _ in range(10):
    optimizer.zero_grad()
    hidden = second(first(torch.randn(8, 16)).relu().cuda())
    hidden.register_hook(where("hidden"))
    loss = tail(hidden.tanh().cpu()).square().mean() + 0.1 * hidden.square().mean().cpu()
    loss.backward()
    optimizer.step()
print(sorted(ran))
print(bits(*first.parameters(), *second.parameters(), *tail.parameters()))
