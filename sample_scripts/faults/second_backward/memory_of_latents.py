"""Latents are kept in a memory after each step, and replayed from the thirtieth on. As in https://github.com/Metta-AI/metta/pull/1139."""

import random

import torch
from torch import nn


class Memory:
    def __init__(self):
        self.rows = []

    def add(self, latents, targets):
        for latent, target in zip(latents, targets, strict=True):
            self.rows.append((latent, target))

    def sample(self, count):
        latents, targets = zip(*random.sample(self.rows, count), strict=True)
        return torch.stack(latents), torch.stack(targets)


def train(steps=45):
    encode, read = nn.Linear(6, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*encode.parameters(), *read.parameters()], lr=1e-2)
    memory = Memory()
    for step in range(steps):
        x = torch.randn(16, 6)
        latent = torch.tanh(encode(x))
        loss = (read(latent).squeeze(1) - x[:, 0]).square().mean()
        if step >= 30:
            old, target = memory.sample(16)
            loss = loss + (read(old).squeeze(1) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory.add(latent, x[:, 0])  # expect: GS712
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    random.seed(0)
    print(f"loss {train():.3f}")
