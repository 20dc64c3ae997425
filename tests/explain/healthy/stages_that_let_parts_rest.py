"""A head learns first on detached features, under an optimizer of all; then all do; then a body rests in a stage."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 3)
other = nn.Linear(8, 3)


def stage(optimizer, scores):
    for _ in range(12):
        given = torch.randn(16, 8)
        loss = nn.functional.cross_entropy(scores(given), given[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


stage(torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1), lambda given: head(body(given).detach()))
stage(torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-3), lambda given: head(body(given)))
held = [*head.parameters(), *other.parameters()]
stage(torch.optim.Adam(held, 1e-3), lambda given: other(given) + head(body(given).detach()))
