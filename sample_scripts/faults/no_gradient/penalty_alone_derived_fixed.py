"""A pair of inputs is told apart; large weights cost something."""
# as in https://duoke360.com/post/34567

import torch
from torch import nn


def penalty_of(model, share=1e-2):
    return share * sum(one.square().sum() for name, one in model.named_parameters() if name.endswith("weight"))


def train(model, optimizer):
    for _ in range(10):
        x = torch.randn(32, 6)
        penalty = penalty_of(model)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], (x.sum(1) > 0).float()) + penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
print(f"loss {train(model, torch.optim.SGD(model.parameters(), lr=0.1)):.3f}")
