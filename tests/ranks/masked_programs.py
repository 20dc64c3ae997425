"""Small programs of two ranks that share the wide layer of one model, and draw masks or noise, each its own or all the
same. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from parallel_programs import Enter, Leave
from torch import nn
from torch.nn import functional


class Wide(nn.Module):
    """Half of the hidden features on each rank, with a bias that is zero at first; `over`: what is put over these."""

    def __init__(self, rank, over=None, whole=True):
        super().__init__()
        size, half = (8, slice(4 * rank, 4 * rank + 4)) if whole else (4, slice(4))
        self.up = nn.Parameter(torch.randn(size, 4)[half].clone())
        self.bias = nn.Parameter(torch.zeros(4))
        self.down = nn.Parameter(torch.randn(4, size)[:, half].clone())
        self.over = over or nn.Identity()

    def forward(self, x):
        wide = self.over(torch.tanh(functional.linear(Enter.apply(x), self.up, self.bias)))
        return Leave.apply(functional.linear(wide, self.down))


class Gauge(nn.Module):
    """Water levels of a river from those of four gauges above; `over`: what is put over what all ranks have."""

    def __init__(self, wide, over=None):
        super().__init__()
        self.enter, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        self.wide, self.over = wide, over or nn.Identity()

    def forward(self, levels):
        levels = torch.tanh(self.enter(levels))
        return self.head(levels + self.wide(self.over(levels)))


class Noisy(nn.Module):
    def __init__(self, chance=None):
        super().__init__()
        self.chance = chance

    def forward(self, x):
        if self.chance is None:
            return x * (1 + 0.1 * torch.randn_like(x))
        return x * (1 + 0.1 * torch.randn(x.shape, generator=self.chance))


def rivers():
    torch.manual_seed(8)
    return [torch.randn(6, 4) for _ in range(STEPS)]


def learn(net, days):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for levels in days:
        optimizer.zero_grad()
        net(levels).square().mean().backward()
        optimizer.step()


def start(seed):
    torch.manual_seed(seed)


def masks_of_its_own(rank):
    """As in https://github.com/awslabs/slapo/issues/21."""
    days = rivers()
    net = Gauge(Wide(rank), nn.Dropout(0.3))
    torch.manual_seed(3 + rank)  # expect: GS792
    learn(net, days)


def healthy_masks_of_all(rank):
    days = rivers()
    net = Gauge(Wide(rank), nn.Dropout(0.3))
    torch.manual_seed(3)
    learn(net, days)


def noise_of_its_own(rank):
    days = rivers()
    net = Gauge(Wide(rank), Noisy())
    start(3 + rank)  # expect: GS792
    learn(net, days)


def shards_and_masks_of_one_seed(rank):
    """The seed by which each rank draws its shards is the one by which it goes on."""
    days = rivers()
    net = Gauge(nn.Identity(), nn.Dropout(0.3))
    torch.manual_seed(3 + rank)  # expect: GS792
    net.wide = Wide(rank, whole=False)
    learn(net, days)


def healthy_masks_over_shards(rank):
    """What each rank has for itself has a mask of its own, on purpose; the zeros of its bias become others."""
    days = rivers()
    net = Gauge(Wide(rank, nn.Dropout(0.3)))
    torch.manual_seed(3 + rank)
    learn(net, days)


def healthy_noise_of_all_beside_masks_over_shards(rank):
    days = rivers()
    net = Gauge(Wide(rank, nn.Dropout(0.3)), Noisy(torch.Generator().manual_seed(5)))
    torch.manual_seed(3 + rank)
    learn(net, days)


class Party(nn.Module):
    """A model of each rank's own measurements, of which the last layers are all that is added up."""

    def __init__(self):
        super().__init__()
        self.own, self.last, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.head(Leave.apply(self.last(self.drop(Enter.apply(torch.tanh(self.own(x)))))))


def healthy_parties(rank):
    """Begun alike, but for the last layer, and trained by each for what it alone measures."""
    torch.manual_seed(2)
    net = Party()
    torch.manual_seed(3 + rank)
    net.last.reset_parameters()
    learn(net, [data(rank, step) for step in range(STEPS)])


def healthy_advisers(rank):
    """Models of their own, which see what the others say."""
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.3), nn.Linear(4, 1))
    torch.manual_seed(3 + rank)
    net[2].reset_parameters()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        said = net(data(0, step))
        optimizer.zero_grad()
        (said.square().mean() + (said - Leave.apply(Enter.apply(said)) / 2).square().mean()).backward()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
