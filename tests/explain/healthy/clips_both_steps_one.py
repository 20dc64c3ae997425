"""A body and a head are trained together, then the head alone: both are clipped."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


class Probe:
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
        self.head = nn.Linear(24, 1)
        self.of_body = torch.optim.Adam(self.body.parameters(), lr=3e-3)
        self.of_head = torch.optim.Adam(self.head.parameters(), lr=3e-3)

    def loss(self, x):
        self.of_body.zero_grad()
        self.of_head.zero_grad()
        loss = (self.head(self.body(x)) - x[:, :1].sin()).square().mean()
        loss.backward()
        return loss.item()

    def together(self, x):
        loss = self.loss(x)
        self.of_body.step()
        self.of_head.step()
        return loss

    def alone(self, x):
        loss = self.loss(x)
        clip_grad_norm_(self.body.parameters(), 1.0)
        clip_grad_norm_(self.head.parameters(), 1.0)
        self.of_head.step()
        return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    probe = Probe()
    for step in range(30):
        loss = (probe.together if step < 10 else probe.alone)(torch.randn(32, 6))
    print(f"loss {loss:.3f}")
