"""The epoch function is called inside a no_grad block that was meant for the evaluation."""

import torch
from engine import run_epoch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(2)]
for epoch in range(2):
    run_epoch(model, batches, optimizer)
    run_epoch(model, batches)
