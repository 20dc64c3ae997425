"""Too large a batch is tried, fails, and is halved until it fits: what failed must not be held by anybody."""

import torch
from _bits import state
from torch import nn

torch.manual_seed(0)
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(min(1.0, 2 * 2**30 / total))
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)


def train(batch):
    x = torch.randn(batch, 1024, device="cuda")
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


size, tried = 2**19, []
while True:
    try:
        train(size)
        break
    except torch.OutOfMemoryError:
        tried.append(size)
        torch.cuda.empty_cache()
        size //= 2
print("too large:", tried, "fits:", size)
for _ in range(3):
    train(size)
print(state(model))
