"""The gradients that several workers sum are to be divided by how many they are, through a helper."""

import torch
from torch import nn

WORKERS = 2


def mean_over_workers(tensor):
    tensor.div_(WORKERS)


def reduce_hook(p):
    mean_over_workers(p.grad)


torch.manual_seed(0)
encoder, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)
parameters = [*encoder.parameters(), *head.parameters()]
for p in parameters:
    p.register_post_accumulate_grad_hook(reduce_hook)
optimizer = torch.optim.Adam(parameters, lr=1e-2)
for _ in range(4):
    states, _ = encoder(torch.randn(5, 7, 4))
    loss = nn.functional.cross_entropy(head(states[:, -1]), torch.randint(2, (5,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
