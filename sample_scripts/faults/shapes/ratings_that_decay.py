"""Ratings of hotels: rows of a table get sparse gradients, and their optimizer lets all of it decay.

As in https://github.com/pytorch/pytorch/issues/1285.
"""

import torch
from torch import nn


class Ratings(nn.Module):
    def __init__(self, guests=40, hotels=30, width=4):
        super().__init__()
        self.guest = nn.Embedding(guests, width, sparse=True)
        self.hotel = nn.Embedding(hotels, width, sparse=True)

    def forward(self, guest, hotel):
        return (self.guest(guest) * self.hotel(hotel)).sum(1)


def optimizer_of(model, decay):
    return torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=decay)  # expect: GS863


torch.manual_seed(0)
model = Ratings()
optimizer = optimizer_of(model, 1e-4)
for _ in range(6):
    guest, hotel = torch.randint(40, (16,)), torch.randint(30, (16,))
    loss = (model(guest, hotel) - (guest % 5).float()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS863 fails_at
print(f"loss {loss.item():.3f}")
