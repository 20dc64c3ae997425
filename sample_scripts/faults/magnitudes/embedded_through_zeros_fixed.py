"""Users and films are described by factors, whose product is the rating; a function gives both their first values.

As in https://github.com/KU-VGI/LFS-GAN/issues/2.
"""

import torch
from torch import nn


class Ratings(nn.Module):
    def __init__(self, users, films, rank=4):
        super().__init__()
        self.users = nn.Embedding(users, rank)
        self.films = nn.Embedding(films, rank)
        self.mean = nn.Parameter(torch.tensor(3.0))
        self.apply(self.begin)

    @staticmethod
    def begin(module):
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)

    def forward(self, user, film):
        return self.mean + (self.users(user) * self.films(film)).sum(1)


def main():
    torch.manual_seed(0)
    taste, kind = torch.randn(40, 2), torch.randn(30, 2)
    model = Ratings(40, 30)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(25):
        user, film = torch.randint(0, 40, (64,)), torch.randint(0, 30, (64,))
        rating = 3 + (taste[user] * kind[film]).sum(1)
        loss = nn.functional.mse_loss(model(user, film), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
