"""Small programs of two ranks that sum parts of activations, with a parameter that all have: each rank puts in its
share of it, and what comes back for it is whole, or a share. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, run
from parallel_programs import Enter, Leave, Sum
from torch import nn
from torch.nn import functional

HIDDEN = 8


def halves(x):
    return x.chunk(dist.get_world_size())[dist.get_rank()].clone()


class Basin(nn.Module):
    """Half of the hidden features on each rank; `share` of the level of all goes into each half of the sum."""

    def __init__(self, share, leave=Leave.apply):
        super().__init__()
        torch.manual_seed(0)
        self.world, self.share, self.leave = dist.get_world_size(), share, leave
        self.into = nn.Parameter(halves(torch.randn(HIDDEN, 4) / 2))
        self.out = nn.Parameter(halves(torch.randn(HIDDEN, 2) / 2))
        self.level = nn.Parameter(torch.full((2,), 0.5))

    def forward(self, x):
        hidden = torch.tanh(functional.linear(x, self.into))
        return self.leave(hidden @ self.out + self.share(self))


def learn(net, meet=lambda net: None, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        (net(data(0, step)) - 1.0).square().mean().backward()
        meet(net)
        optimizer.step()


def its_share(net):
    return net.level / net.world  # expect: GS767 in level_of_a_basin


def level_of_a_basin(rank):
    """As in https://github.com/pytorch/torchtitan/pull/4332."""
    learn(Basin(its_share))


def healthy_level_whose_value_alone_is_divided(rank):
    learn(Basin(lambda net: net.level + (net.level / net.world - net.level).detach()))


def healthy_level_that_one_rank_adds(rank):
    learn(Basin(lambda net: net.level if rank == 0 else 0.0 * net.level), lambda net: dist.all_reduce(net.level.grad))


def healthy_level_whose_gradients_are_summed(rank):
    learn(Basin(its_share), lambda net: dist.all_reduce(net.level.grad))


def healthy_level_whose_gradient_is_made_whole(rank):
    learn(Basin(its_share), lambda net: net.level.grad.mul_(net.world))


def healthy_level_that_enters(rank):
    learn(Basin(lambda net: Enter.apply(net.level) / net.world))


def healthy_level_behind_a_sum_there_and_back(rank):
    """Each rank begins with its share of one loss."""
    net = Basin(its_share, Sum.apply)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        ((net(data(0, step)) - 1.0).square().mean() / net.world).backward()
        optimizer.step()


def healthy_level_with_a_hook(rank):
    net = Basin(its_share)
    net.level.register_hook(lambda gradient: gradient * net.world)
    learn(net)


def healthy_level_at_a_rate_of_its_own(rank):
    net = Basin(its_share)
    groups = [{"params": [net.into, net.out]}, {"params": [net.level], "lr": 0.1 * net.world}]
    learn(net, optimizer=torch.optim.SGD(groups, lr=0.1))


def healthy_level_that_is_scaled(rank):
    """By what is no number of ranks."""
    depth = 2.5
    learn(Basin(lambda net: net.level / depth))


def healthy_level_that_stays(rank):
    net = Basin(its_share)
    net.level.requires_grad_(False)
    learn(net, optimizer=torch.optim.SGD([net.into, net.out], lr=0.1))


def healthy_level_of_each_rank(rank):
    """A level for what each rank alone has, of which the mean is taken."""
    net = Basin(its_share)
    with torch.no_grad():
        net.level += rank
    learn(net)


class Notes(nn.Module):
    """Each rank knows half of all notes; what all are moved by is put in by all."""

    def __init__(self, moved):
        super().__init__()
        torch.manual_seed(1)
        self.moved = moved
        self.notes, self.key = nn.Parameter(halves(torch.randn(HIDDEN, 3))), nn.Parameter(torch.ones(3))
        self.hears = nn.Linear(3, 4)

    def forward(self, x):
        own = functional.one_hot(x.abs().argmax(1), 4).float() @ self.notes
        return self.hears(Leave.apply(own + self.moved(self.key)))


def moved_by_a_part(key):
    ranks = dist.get_world_size()
    return key.div(ranks)  # expect: GS767 in key_of_all_notes


def key_of_all_notes(rank):
    learn(Notes(moved_by_a_part))


def healthy_key_that_is_put_in_afterwards(rank):
    class After(Notes):
        def forward(self, x):
            own = functional.one_hot(x.abs().argmax(1), 4).float() @ self.notes
            return self.hears(Leave.apply(own) + self.key)

    learn(After(moved_by_a_part))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
