"""Fitting of places to directions: a place that has just been put onto its neighbour has a soft one to it.

As in https://github.com/pytorch/pytorch/issues/184575.
"""

import torch

SOFT = 0.1


class Places(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.places = torch.nn.Parameter(torch.arange(3.0 * count).view(count, 3))

    def directions(self, left, right):
        apart = self.places[right] - self.places[left]
        length = apart.pow(2).sum(1, keepdim=True).clamp(min=0).add(SOFT**2).sqrt()
        return apart / length


def merge(places, one):
    with torch.no_grad():
        places[one] = places[one - 1]


def main():
    torch.manual_seed(0)
    model = Places(6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    left, right = torch.arange(5), torch.arange(1, 6)
    wanted = torch.nn.functional.normalize(torch.randn(5, 3), dim=1)
    for step in range(45):
        if step == 27:
            merge(model.places, 3)
        loss = (model.directions(left, right) - wanted).square().sum() + 1e-6 * model.places.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("done")


main()
