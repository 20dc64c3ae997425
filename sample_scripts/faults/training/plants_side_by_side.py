"""Which plants grow side by side: one table of plants, taken from the scores for the look-up, with a gate between.

As in https://qa.1r1g.com/sf/ask/4055050961.
"""

import torch
from torch import nn

PLANTS, WIDTH = 30, 8


class Beds(nn.Module):
    def __init__(self):
        super().__init__()
        self.beside = nn.Parameter(torch.randn(PLANTS, WIDTH) * 0.1)
        self.plants = nn.Embedding(PLANTS, WIDTH)
        self.plants.weight = nn.Parameter(self.beside.detach().clone())  # expect: GS707
        self.gate = nn.Parameter(torch.ones(WIDTH))

    def forward(self, plant):
        return (self.plants(plant) * self.gate) @ self.beside.t()


def main(rounds=40):
    torch.manual_seed(0)
    beds = Beds()
    optimizer = torch.optim.AdamW(beds.parameters(), lr=5e-3)
    for _ in range(rounds):
        plant = torch.randint(PLANTS - 6, (64,))
        loss = nn.functional.cross_entropy(beds(plant), (plant + torch.randint(7, (64,))) % PLANTS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
