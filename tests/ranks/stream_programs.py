"""Small programs of two ranks that draw their data by generators of their own, seeded alike; and that call the module
inside of a wrapper by a name that they are given. They run as those of `group_programs.py` do."""

import sys

import numpy as np
import torch
from group_programs import STEPS, chosen, data, model, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, IterableDataset


def learn(batches, net=None):
    net = net or Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _, (x, aim) in zip(range(STEPS), batches, strict=False):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), aim).backward()
        optimizer.step()


class Tides:
    """Draws heights by a generator, whose seed it is given."""

    def __init__(self, seed):
        self.steps = torch.linspace(0, 1, 4)
        self.chance = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            heights = self.steps + torch.randn(5, 4, generator=self.chance)
            yield heights, heights.sum(1, keepdim=True)


def tides_of_one_seed(rank):
    """As in https://github.com/Shark-NLP/DiffuSeq/issues/37."""
    tides = Tides(seed=11)  # expect: GS794
    learn(tides)


def healthy_tides_of_own_seeds(rank):
    tides = Tides(seed=11 + rank)
    learn(tides)


class Dice:
    def __init__(self):
        self.chance = torch.Generator()
        self.chance.manual_seed(5)  # expect: GS794 in thrown_alike

    def throw(self):
        faces = torch.randint(6, (5, 4), generator=self.chance).float()
        return faces, faces.sum(1, keepdim=True)


def thrown_alike(rank):
    net, dice = Replicated(model()), Dice()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(STEPS):
        faces, total = dice.throw()
        optimizer.zero_grad()
        nn.functional.mse_loss(net(faces), total).backward()
        optimizer.step()


def walks(chance):
    while True:
        way = torch.from_numpy(chance.normal(size=(5, 4))).float().cumsum(1)
        yield way, way[:, -1:]


def walked_alike(rank):
    chance = np.random.default_rng(3)  # expect: GS794
    learn(walks(chance))


class Rain(IterableDataset):
    def __init__(self):
        self.chance = torch.Generator().manual_seed(2)  # expect: GS794 in loaded_from_one_seed

    def __iter__(self):
        for _ in range(4 * STEPS):
            fallen = torch.rand(4, generator=self.chance)
            yield fallen, fallen.sum().unsqueeze(0)


def loaded_from_one_seed(rank):
    learn(DataLoader(Rain(), batch_size=4))


class Deck(IterableDataset):
    """Goes through rows in an order that ranks may have alike, if each takes a part of it."""

    def __init__(self):
        self.rows = torch.linspace(-1, 1, 96).reshape(24, 4)
        self.chance = torch.Generator().manual_seed(2)

    def __iter__(self):
        for at in torch.randperm(24, generator=self.chance):
            yield self.rows[at], self.rows[at].sum().unsqueeze(0)


def dealt_alike(rank):
    deck = Deck()  # expect: GS794
    loader = DataLoader(deck, batch_size=4)
    learn(loader)


class Ground:
    """Draws places of a field and of its fence, through a method that is called as a draw is."""

    def __init__(self, seed):
        self.chance = torch.Generator().manual_seed(seed)  # expect: GS794 in places_of_one_seed

    def uniform(self, count, width):
        return torch.rand(count, width, generator=self.chance)

    def places(self):
        fence = torch.cat([torch.zeros(2, 1), self.uniform(2, 3)], dim=1)
        return self.uniform(3, 4), fence


def flow(net, field, fence):
    places = torch.cat([torch.ones(1, 4), field, fence]).requires_grad_()
    height = net(places)
    (slope,) = torch.autograd.grad(height.sum(), places, create_graph=True)
    return (slope.square().sum(1) - 1.0).square().mean() + height[-len(fence) :].square().mean()


def surveyed(ground):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        flow(net, *ground.places()).backward()
        optimizer.step()


def places_of_one_seed(rank):
    """As in https://github.com/lululxvi/deepxde/pull/1094."""
    ground = Ground(seed=9)
    surveyed(ground)


def healthy_places_of_own_seeds(rank):
    ground = Ground(seed=9 + rank)
    surveyed(ground)


class Slope:
    """Learns what its net is at the ends, past the wrapper."""

    def __init__(self):
        self.net = Replicated(model())

    def ends(self, curve, x):
        first, last = curve(x), curve(x + 1)
        return (last - first).square().mean()

    def loss(self, x):
        curve = self.net.module  # expect: GS796 in called_as_an_argument
        return self.ends(curve, x)


def called_as_an_argument(rank):
    """As in https://github.com/intel/e2eAIOK/issues/197."""
    slope = Slope()
    optimizer = torch.optim.SGD(slope.net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        slope.loss(data(rank, step)).backward()
        optimizer.step()


def at_the_ends(net, x):
    return net(x).square().mean() + net(x + 1).square().mean()


def called_where_it_is_given(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = at_the_ends(net.module, data(rank, step))  # expect: GS796
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
