"""Small programs of two ranks with a second phase of training, in which all are given the same samples, or their own
still. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, Subset, TensorDataset

FIRST, SECOND = 5, 10


def orchard():
    """Trees, by four measures, and how much fruit each bears."""
    chance = torch.Generator().manual_seed(8)
    trees = torch.rand(96, 4, generator=chance)
    return trees, trees.square().sum(1, keepdim=True)


def harvest(net, optimizer, batches, steps):
    for _, (trees, fruit) in zip(range(steps), batches, strict=False):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(trees), fruit).backward()
        optimizer.step()


def begin():
    torch.manual_seed(4)
    net = Replicated(model())
    return net, torch.optim.SGD(net.parameters(), lr=0.05)


def loaded_for_all_later(rank):
    net, optimizer = begin()
    data = TensorDataset(*orchard())
    first = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    harvest(net, optimizer, first, FIRST)
    later = Subset(data, range(48))
    second = DataLoader(later, batch_size=4, shuffle=True)  # expect: GS794
    harvest(net, optimizer, second, SECOND)


def healthy_loaded_for_each_later(rank):
    net, optimizer = begin()
    data = TensorDataset(*orchard())
    harvest(net, optimizer, DataLoader(data, batch_size=4, sampler=DistributedSampler(data)), FIRST)
    later = Subset(data, range(80))
    harvest(net, optimizer, DataLoader(later, batch_size=4, sampler=DistributedSampler(later)), SECOND)


def picked(trees, fruit, size, part=0, parts=1):
    chance = torch.Generator().manual_seed(6)
    while True:
        for places in torch.randperm(len(trees), generator=chance)[part::parts].split(size):
            yield trees[places], fruit[places]


def yielded_to_all_later(rank):
    net, optimizer = begin()
    trees, fruit = orchard()
    harvest(net, optimizer, picked(trees, fruit, 4, rank, 2), FIRST)
    poor = picked(trees[:40], fruit[:40], 4)  # expect: GS794
    harvest(net, optimizer, poor, SECOND)


def healthy_yielded_to_each_later(rank):
    net, optimizer = begin()
    trees, fruit = orchard()
    harvest(net, optimizer, picked(trees, fruit, 4, rank, 2), FIRST)
    harvest(net, optimizer, picked(trees[:40], fruit[:40], 4, rank, 2), SECOND)


class Rows(IterableDataset):
    """Trees row by row, of which each rank may be given its own."""

    def __init__(self, trees, fruit, number=0, count=1):
        self.rows, self.seed = list(zip(trees, fruit, strict=True))[number::count], 9

    def __iter__(self):
        for _ in range(SECOND):
            chance = torch.Generator().manual_seed(self.seed)
            yield from (self.rows[place] for place in torch.randperm(len(self.rows), generator=chance))


class Grower:
    """Averages by hand."""

    def __init__(self, rank):
        torch.manual_seed(4)
        self.rank, self.net = rank, model()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def grow(self, rows, steps):
        loader = DataLoader(rows, batch_size=4)
        for _, (trees, fruit) in zip(range(steps), loader, strict=False):
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.net(trees), fruit).backward()
            for one in self.net.parameters():
                dist.all_reduce(one.grad)
                one.grad /= 2
            self.optimizer.step()

    def through(self, later, steps):
        trees, fruit = orchard()
        self.grow(Rows(trees, fruit, self.rank, 2), FIRST)
        self.grow(later, steps)


def streamed_to_all_later(rank):
    """As in https://github.com/huggingface/datasets/issues/5360."""
    grower = Grower(rank)
    trees, fruit = orchard()
    later = Rows(trees[:40], fruit[:40])  # expect: GS794
    grower.through(later, SECOND)


def healthy_streamed_to_each_later(rank):
    grower = Grower(rank)
    trees, fruit = orchard()
    grower.through(Rows(trees[:40], fruit[:40], rank, 2), SECOND)


def orchards(number):
    """How the rows of each phase are made."""
    (trees, fruit), rank = orchard(), number
    return {
        "all": lambda: Sown(trees, fruit, number=rank, count=2),
        "poor": lambda: Sown(trees[:40], fruit[:40]),  # expect: GS794 in made_for_all_later
        "low": lambda: Sown(trees[40:], fruit[40:], number=rank, count=2),
    }


class Sown(Rows):
    """Rows in an order that is drawn anew each time."""

    def order(self, chance):
        return torch.randperm(len(self.rows), generator=chance)

    def __iter__(self):
        for again in range(SECOND):
            chance = torch.Generator().manual_seed(self.seed + again)
            yield from (self.rows[place] for place in self.order(chance))


def through_phases(rank, *names):
    made, (net, optimizer) = orchards(rank), begin()
    for name, steps in zip(names, (FIRST, SECOND), strict=True):
        harvest(net, optimizer, DataLoader(made[name](), batch_size=4), steps)


def made_for_all_later(rank):
    through_phases(rank, "all", "poor")


def healthy_made_for_each_later(rank):
    through_phases(rank, "all", "low")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
