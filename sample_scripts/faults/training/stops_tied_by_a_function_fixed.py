"""Where a passenger gets off, from where they got on; the stops' vectors are tied by a function behind the building.

As in https://qa.1r1g.com/sf/ask/4055050961.
"""

import torch
from torch import nn

STOPS, WIDTH = 40, 12


class Trips(nn.Module):
    def __init__(self):
        super().__init__()
        self.stops = nn.Embedding(STOPS, WIDTH)
        self.hour = nn.Linear(1, WIDTH)
        self.leave = nn.Linear(WIDTH, STOPS, bias=False)

    def forward(self, stop, hour):
        return self.leave(torch.tanh(self.stops(stop) + self.hour(hour)))


def tie(model):
    model.leave.weight = model.stops.weight
    return model


def main(days=3, trips=20):
    torch.manual_seed(0)
    model = tie(Trips())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for day in range(days):
        for _ in range(trips):
            stop, hour = torch.randint(STOPS, (32,)), torch.rand(32, 1)
            loss = nn.functional.cross_entropy(model(stop, hour), (stop + 3) % STOPS)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"day {day}: {loss.item():.3f}")


main()
