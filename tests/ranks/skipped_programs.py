"""Small programs of two ranks whose forwards, or losses, leave a layer out now and then; and their healthy twins. They
run as those of `group_programs.py` do."""

import itertools
import sys

import torch
from group_programs import chosen, data, model, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Coins:
    """Which layers are kept: all but one, once."""

    def __init__(self):
        self.tossed = 0

    def keeps(self, at):
        self.tossed += 1
        return self.tossed != 6 or at != 1


def layers():
    torch.manual_seed(0)
    return nn.ModuleList(nn.Linear(4, 4) for _ in range(4))


class Skipping(nn.Module):
    """Passes a layer by, so that each of the others runs by the line by which it would."""

    def __init__(self, mask=False, gate=None):
        super().__init__()
        self.layers, self.coins, self.mask, self.gate = layers(), Coins(), mask, gate

    def forward(self, x):
        for at, layer in enumerate(self.layers):
            keep = self.coins.keeps(at)
            if not keep and not self.mask:  # expect: GS791 in passed_by_in_a_loop
                continue
            x = x + float(keep) * layer(x)
        return x


class Gated(Skipping):
    """Has another condition on the way, which may be it as well."""

    def forward(self, x):
        for at, layer in enumerate(self.layers):
            if at < 8 and self.coins.keeps(at):
                x = x + layer(x)
            if x.isnan().any():
                return x
        return x


class Block(nn.Module):
    """Gives back what it was given, where it is left out."""

    def __init__(self, coins):
        super().__init__()
        self.layer, self.coins = nn.Linear(4, 4), coins

    def forward(self, x):
        if not self.coins.keeps(1):  # expect: GS791 in left_early
            return x
        return x + self.layer(x)


class Shortened(nn.Module):
    """Goes less deep, once."""

    def __init__(self):
        super().__init__()
        self.layers, self.coins = layers(), Coins()

    def forward(self, x):
        depth = 4 if all(self.coins.keeps(1) for _ in range(4)) else 2
        for layer in self.layers[:depth]:  # expect: GS791 in gone_less_deep
            x = layer(x).tanh()
        return x


class Both(nn.Module):
    """Gives two results, the second where it has what gives it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x):
        first = self.first(x)
        if self.second is not None:
            return first, self.second(x)
        return first, None


class Losses:
    """Takes both results, or leaves out one."""

    def __init__(self, forgets=lambda call: call == 3):
        self.forgets, self.calls = forgets, 0

    def __call__(self, net, x):
        self.calls += 1
        first, second = net(x)
        kept = [first] if self.forgets(self.calls) else [first, second]
        return sum(one.square().mean() for one in kept)


class Forced(nn.Module):
    """Goes by what it is told, or by what it said itself."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.told, self.said = nn.Linear(4, 6), nn.Linear(1, 6)
        self.last = nn.Linear(6, 1)

    def forward(self, x, forced):
        said = x.new_zeros(len(x), 1)
        for one in forced:
            if one:  # expect: GS791 in forced_by_turns
                hidden = self.told(x)
            else:
                hidden = self.said(said)
                hidden = hidden + self.told.bias
            said = self.last(hidden.tanh())
        return said


class Whispering(Forced):
    """Takes what it is told, unless a coin falls so."""

    def forward(self, x, forced):
        hidden = self.told(x) if forced else self.said(x[:, :1])
        if torch.rand(()) > 2.0:
            return hidden.mean()
        return self.last(hidden)


class Guessing(nn.Module):
    """Has a layer that its setting has no use for."""

    def __init__(self, guesses):
        super().__init__()
        torch.manual_seed(0)
        self.guesses = guesses
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 1)
        self.guess = nn.Linear(6, 6)  # expect: GS791 in a_setting_left_out

    def forward(self, x):
        hidden = self.first(x)
        if self.guesses:
            hidden = hidden + self.guess(hidden)
        return self.last(hidden.tanh())


def teach(rank, net, forced=lambda rank, step: True):
    steps = itertools.count()
    train(net, rank, loss=lambda net, x: net(x, forced(rank, next(steps))).square().mean())


def forced_at_first(rank):
    """As in https://github.com/lhotse-speech/lhotse/issues/554."""
    net = Replicated(Forced())  # expect: GS791
    teach(rank, net, lambda rank, step: (True, True))


def whispered_at_first(rank):
    net = Replicated(Whispering())  # expect: GS791
    teach(rank, net)


def forced_by_turns(rank):
    teach(rank, Replicated(Forced()), lambda rank, step: (True, rank == 1 and step == 3))


def a_setting_left_out(rank):
    train(Replicated(Guessing(guesses=False)), rank)


def healthy_forced_by_turns(rank):
    teach(rank, Replicated(Forced(), find_unused_parameters=True), lambda rank, step: (True, rank == 1 and step == 3))


def passed_by_in_a_loop(rank):
    train(Replicated(Skipping()), rank)


def healthy_passed_by_in_a_loop(rank):
    train(Replicated(Skipping(), find_unused_parameters=True), rank)


def healthy_times_zero(rank):
    train(Replicated(Skipping(mask=True)), rank)


def by_one_of_several(rank):
    net = Replicated(Gated())  # expect: GS791
    train(net, rank)


def left_early(rank):
    coins = Coins()
    train(Replicated(nn.Sequential(model()[:0], *(Block(coins) for _ in range(4)))), rank)


def gone_less_deep(rank):
    train(Replicated(Shortened()), rank)


def a_result_left_out(rank):
    net = Replicated(Both())  # expect: GS791
    train(net, rank, loss=Losses())


def a_result_never_used(rank):
    net = Replicated(Both())  # expect: GS791
    train(net, rank, loss=Losses(lambda call: True))


def healthy_result_left_out(rank):
    train(Replicated(Both(), find_unused_parameters=True), rank, loss=Losses())


def healthy_both_results(rank):
    train(Replicated(Both()), rank, loss=Losses(lambda call: data(rank, 0).isnan().any()))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
