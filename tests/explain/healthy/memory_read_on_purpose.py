"""Parameters over memory that something else reads: an index, codes that are compared, data that was read once."""

import torch
import torch.nn.functional as F
from torch import nn


class Neighbours:
    """The nearest songs, by numbers that are always the newest."""

    def __init__(self, table):
        self.table = table

    def far(self, rows):
        unit = F.normalize(self.table, dim=1)
        return (unit[rows] @ unit.T).argmin(1)


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.book = nn.Parameter(torch.randn(8, 4))

    def forward(self, x):
        book = self.book.detach()
        nearest = torch.cdist(x, book).argmin(1)
        commitment = (x - book[nearest]).square().mean()
        return x + (book[nearest] - x).detach(), commitment + (x.detach() - self.book[nearest]).square().mean()


class Songs(nn.Module):
    def __init__(self, memory):
        super().__init__()
        self.vectors = nn.Parameter(memory[:, :4])

    def forward(self, rows):
        return self.vectors[rows]


def size(table):
    with torch.no_grad():
        return table.square().mean().sqrt()


if __name__ == "__main__":
    torch.manual_seed(0)
    memory, started = torch.randn(30, 4), torch.randn(30, 4)
    scale, shift = started.std(0), started.mean(0)  # read before the first step only
    begun = nn.Parameter(started)
    songs, codes, index = Songs(memory), Codes(), Neighbours(memory)
    learned = [*songs.parameters(), *codes.parameters(), begun]
    optimizer = torch.optim.Adam(learned, lr=0.01)
    for _ in range(12):
        rows = torch.randint(0, 30, (16,))
        near, far = songs(rows), songs(index.far(rows))
        coded, commitment = codes(near + (begun[rows] - shift) / scale)
        loss = (coded - near).square().mean() + commitment - (coded * far).mean() / (1 + size(memory))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
