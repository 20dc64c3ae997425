"""Small programs of two ranks whose losses leave a term out from some step on; and their healthy twins. They run as
those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

EARLY = 3  # steps that have the term
WEIGHT = 0.4


class Pair(nn.Module):
    """Tells of its input a value, and how far it goes from nothing."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.trunk, self.value, self.spread = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        hidden = self.trunk(x).tanh()
        return self.value(hidden), self.spread(hidden)


class Hasty(Pair):
    """Leaves out the spread by itself, by one of two conditions."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        hidden = self.trunk(x).tanh()
        if self.calls > EARLY or hidden.isnan().any():
            return self.value(hidden), None
        if not self.training:
            return self.value(hidden), None
        return self.value(hidden), self.spread(hidden)


class Annealed:
    """Counts its calls, and forgets the spread after some."""

    def __init__(self, early=EARLY):
        self.calls, self.early = 0, early

    def __call__(self, net, x):
        value, spread = net(x)
        loss = value.square().mean()
        self.calls += 1
        return self.joined(loss, spread)


class Returns(Annealed):
    """Forgets by an early return."""

    def joined(self, loss, spread):
        if self.calls > self.early:  # expect: GS791 in returned_early
            return loss
        return loss + WEIGHT * spread.exp().mean()


class Chooses(Annealed):
    """Forgets by a choice in the line of the sum, of which a part does run."""

    def joined(self, loss, spread):
        return loss + (spread.exp().mean() if self.calls <= self.early else 0.0)  # expect: GS791 in chosen_in_the_sum


class Collects(Annealed):
    """Forgets by what it puts into a table of losses."""

    def joined(self, loss, spread):
        losses = {"value": loss}
        if spread is not None and self.calls <= self.early:  # expect: GS791 in put_into_a_table
            losses["spread"] = (WEIGHT if self.calls > 1 else 1.0) * spread.exp().mean()
        return sum(losses.values())


class Asks(Annealed):
    """Forgets in what the sum calls."""

    def joined(self, loss, spread):
        return loss + self.term(spread)

    def term(self, spread):
        if self.calls <= self.early:  # expect: GS791 in forgotten_in_what_is_called
            return spread.exp().mean()
        return 0.0


class Nests(Annealed):
    """Forgets by one of two conditions."""

    def joined(self, loss, spread):
        if self.calls <= self.early:
            weight = WEIGHT / self.calls
            if spread is not None:
                loss = loss + weight * spread.exp().mean()
        return loss


class Detaches(Annealed):
    """Forgets a term by its condition, and another as it is cut off."""

    def joined(self, loss, spread):
        given = spread if self.calls <= EARLY else spread.detach()
        loss = loss + given.mean()
        if self.calls <= self.early:
            loss = loss + WEIGHT * spread.exp().mean()
        return loss


class Given(Annealed):
    """Has the term where the model gives what it is of."""

    def joined(self, loss, spread):
        if spread is not None:
            loss = loss + WEIGHT * spread.exp().mean()
        return loss


class Weighs(Annealed):
    """Has the term always, times nothing in the end."""

    def joined(self, loss, spread):
        return loss + (WEIGHT if self.calls <= self.early else 0.0) * spread.exp().mean()


def in_the_loop(rank, early=EARLY, **options):
    net = Replicated(Pair(), **options)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        value, spread = net(data(rank, step))
        loss = value.square().mean()
        if loss.isnan():
            break
        if step < early:  # expect: GS791 in left_out_in_the_loop
            loss = loss + WEIGHT * spread.exp().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def left_out_in_the_loop(rank):
    in_the_loop(rank)


def healthy_in_the_loop(rank):
    in_the_loop(rank, find_unused_parameters=True)


def healthy_never_left_out(rank):
    in_the_loop(rank, early=STEPS)


def healthy_times_nothing(rank):
    train(Replicated(Pair()), rank, loss=Weighs())


def returned_early(rank):
    train(Replicated(Pair()), rank, loss=Returns())


def chosen_in_the_sum(rank):
    train(Replicated(Pair()), rank, loss=Chooses())


def put_into_a_table(rank):
    train(Replicated(Pair()), rank, loss=Collects())


def forgotten_in_what_is_called(rank):
    train(Replicated(Pair()), rank, loss=Asks())


def by_one_of_two_conditions(rank):
    net = Replicated(Pair())  # expect: GS791
    train(net, rank, loss=Nests())


def cut_off_as_well(rank):
    net = Replicated(Pair())  # expect: GS791
    train(net, rank, loss=Detaches())


def not_given_by_the_model(rank):
    net = Replicated(Hasty())  # expect: GS791
    train(net, rank, loss=Given())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
