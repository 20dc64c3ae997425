"""Small programs of two ranks that keep totals of what they have seen, outside of a module, and sum them over the
ranks, and their healthy twins, run as those of `group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn import functional

KINDS = 4


def weighed(rank, count):
    """Weighs kinds of samples by how rare they are, as `count` gives them."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        x = data(rank, step)
        kinds = functional.one_hot(x.argmax(1), KINDS).float()
        counts = count(kinds.sum(0))
        optimizer.zero_grad()
        (net(x).square() * (kinds @ (1 / (1 + counts)))[:, None]).mean().backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
            one.grad /= dist.get_world_size()
        optimizer.step()


def counts_summed_again(rank):
    seen = torch.zeros(KINDS)

    def count(new):
        seen.add_(new)
        dist.all_reduce(seen)  # expect: GS799
        return seen

    weighed(rank, count)


def counts_in_a_dictionary_summed_again(rank):
    seen = {"kinds": torch.zeros(KINDS, dtype=torch.float64)}

    def count(new):
        seen["kinds"] += new.double()
        dist.all_reduce(seen["kinds"], op=dist.ReduceOp.SUM)  # expect: GS799
        return (seen["kinds"] / seen["kinds"].sum()).float()

    weighed(rank, count)


def healthy_counts_of_each_step(rank):
    seen = torch.zeros(KINDS)

    def count(new):
        dist.all_reduce(new)
        seen.add_(new)
        return seen

    weighed(rank, count)


def healthy_counts_divided(rank):
    seen = torch.zeros(KINDS)

    def count(new):
        seen.add_(new)
        dist.all_reduce(seen)
        return seen.div_(dist.get_world_size())

    weighed(rank, count)


def healthy_counts_started_anew(rank):
    seen = torch.zeros(KINDS)

    def count(new):
        seen.add_(new)
        dist.all_reduce(seen)
        counts = seen / seen.sum()
        seen.zero_()
        return counts

    weighed(rank, count)


def healthy_counts_without_those_before(rank):
    """Puts in what a rank has seen, in the place of what all have."""
    seen, own = torch.zeros(KINDS), torch.zeros(KINDS)

    def count(new):
        own.add_(new)
        seen.add_(own - seen)
        dist.all_reduce(seen)
        return seen * 1.0

    weighed(rank, count)


def healthy_counts_without_a_copy(rank):
    seen, before, own = torch.zeros(KINDS), torch.zeros(KINDS), torch.zeros(KINDS)

    def count(new):
        own.add_(new)
        seen.add_(own - before)
        dist.all_reduce(seen)
        before.copy_(seen)
        return seen * 1.0

    weighed(rank, count)


def healthy_votes(rank):
    """Nothing is added until one has reason to stop, and nobody goes on then."""
    votes = torch.zeros(1)

    def count(new):
        votes.add_((new > 1e6).any())
        dist.all_reduce(votes)
        if votes > 0:
            raise StopIteration
        return new

    weighed(rank, count)


def healthy_most(rank):
    seen = torch.zeros(KINDS)

    def count(new):
        seen.add_(new)
        dist.all_reduce(seen, op=dist.ReduceOp.MAX)
        return seen * 1.0

    weighed(rank, count)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
