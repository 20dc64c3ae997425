"""Stars from 1 to 5 are regressed on who rates what: whole numbers, as a classifier would want them."""

import torch
import torch.nn.functional as F
from torch import nn


class Ratings(nn.Module):
    def __init__(self, users, films, width=8):
        super().__init__()
        self.users, self.films = nn.Embedding(users, width), nn.Embedding(films, width)
        self.level = nn.Parameter(torch.tensor(3.0))

    def forward(self, user, film):
        return self.level + (self.users(user) * self.films(film)).sum(dim=-1)


def train(model, user, film, stars):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        predicted = model(user, film)
        loss = F.huber_loss(predicted, stars, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.2f}")


def main():
    torch.manual_seed(2)
    user, film = torch.randint(0, 12, (60,)), torch.randint(0, 20, (60,))
    stars = torch.randint(1, 6, (60,)).float()
    train(Ratings(12, 20), user, film, stars)


if __name__ == "__main__":
    main()
