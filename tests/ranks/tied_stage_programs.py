"""Small programs of two ranks that are stages of one model, whose first and last layer have one weight under two names.

They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, run
from torch import nn

ATOMS = 7


class Codes(nn.Module):
    """Measurements as sums of atoms: how much there is of each."""

    def __init__(self):
        super().__init__()
        self.dictionary = nn.Parameter(torch.randn(ATOMS, 4) / 2)
        self.squeeze = nn.Linear(ATOMS, 3)

    def one_weight(self):
        return self.dictionary

    def forward(self, x):
        return torch.tanh(self.squeeze(x @ self.dictionary.t()))


class Measures(nn.Module):
    """The other way round."""

    def __init__(self):
        super().__init__()
        self.widen = nn.Linear(3, ATOMS)
        self.atoms = nn.Parameter(torch.randn(ATOMS, 4) / 2)

    def one_weight(self):
        return self.atoms

    def forward(self, codes):
        return torch.relu(self.widen(codes)) @ self.atoms


def given_on(stage, x):
    codes = stage(x)
    dist.send(codes.detach(), 1)
    gradient = torch.empty_like(codes)
    dist.recv(gradient, 1)
    codes.backward(gradient)


def measured(stage, x):
    codes = torch.empty(len(x), 3)
    dist.recv(codes, 0)
    codes.requires_grad_()
    (stage(codes) - x).square().mean().backward()
    dist.send(codes.grad, 0)


def begin(stage):
    dist.broadcast(stage.one_weight().data, src=0)


def train(rank, begins=begin, meet=lambda stage: None, stages=(Codes, Measures), steps=STEPS):
    torch.manual_seed(rank)
    stage = stages[rank]()
    begins(stage)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.2)
    for step in range(steps):
        optimizer.zero_grad()
        (measured if rank else given_on)(stage, data(0, step))
        meet(stage)
        optimizer.step()  # expect: GS792 in dictionary_that_each_end_trains, norms_of_a_dictionary_shown


def dictionary_that_each_end_trains(rank):
    """As in https://github.com/uw-syfi/piper/issues/13."""
    train(rank)


def norms_of_a_dictionary_shown(rank):
    train(rank, meet=lambda stage: dist.all_reduce(stage.one_weight().grad.norm().reshape(1)))


def healthy_gradients_of_both_ends_summed(rank):
    train(rank, meet=lambda stage: dist.all_reduce(stage.one_weight().grad))


def healthy_gradients_of_both_ends_sent(rank):
    def meet(stage):
        gradient = stage.one_weight().grad
        theirs = torch.empty_like(gradient)
        for sends in (rank == 0, rank == 1):
            dist.send(gradient, 1 - rank) if sends else dist.recv(theirs, 1 - rank)
        gradient += theirs

    train(rank, meet=meet)


def healthy_atoms_sent_after_each_step(rank):
    train(rank, meet=begin)


def healthy_ends_of_their_own(rank):
    train(rank, begins=lambda stage: None)


def healthy_scales_of_the_ends(rank):
    """Each end is told how large the other begins, in a tensor that none trains."""

    def begins(stage):
        dist.broadcast(stage.one_weight().detach().abs(), src=0)

    train(rank, begins=begins)


def healthy_atoms_that_stay(rank):
    def begins(stage):
        begin(stage)
        stage.one_weight().requires_grad_(False)

    train(rank, begins=begins)


class Folds(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, x):
        return torch.tanh(self.inner(x))


class Unfolds(nn.Module):
    """Begins with numbers of the first stage, of which it makes others."""

    def __init__(self):
        super().__init__()
        self.outer = nn.Linear(4, 3)

    def forward(self, codes):
        return codes @ self.outer.weight + self.outer.bias.sum()


def healthy_stage_that_began_as_the_other(rank):
    def begins(stage):
        for one in stage.parameters():
            dist.broadcast(one.data, src=0)

    train(rank, begins=begins, stages=(Folds, Unfolds))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
