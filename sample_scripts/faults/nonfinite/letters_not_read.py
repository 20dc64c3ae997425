"""Post sorted by its marks, where a scanner gives the letters that it could not read as NaN, with a list of the others.

As in https://discuss.pytorch.org/t/gradients-contaminated-by-unused-inputs/135053.
"""

import torch
from torch import nn

MARKS, DISTRICTS = 12, 5


class Sorter(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.look = nn.Linear(MARKS, width)
        self.choose = nn.Linear(width, DISTRICTS)

    def forward(self, marks):
        return self.choose(nn.functional.gelu(self.look(marks)))


def scan(count, jams, gen):
    district = torch.randint(DISTRICTS, (count,), generator=gen)
    marks = torch.randn(count, MARKS, generator=gen) + nn.functional.one_hot(district, MARKS) * 2
    readable = torch.rand(count, generator=gen) > 0.1 * jams
    return torch.where(readable[:, None], marks, torch.nan), readable, district


def score(model, marks, readable, district):
    scores = model(marks)  # expect: GS731
    return nn.functional.cross_entropy(scores[readable], district[readable])  # expect: GS731 masked_by


def main(trays=40):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(4)
    model = Sorter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for tray in range(trays):
        loss = score(model, *scan(64, tray > 30, gen))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if tray % 10 == 0:
            print(f"tray {tray}: {loss.item():.4f}")


main()
