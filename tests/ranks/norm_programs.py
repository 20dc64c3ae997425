"""Programs of two ranks that normalise by what all of them have, by hand, and their healthy twins. They run as those of
`group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, run, train
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel as Replicated


class OverRanks(torch.autograd.Function):
    """The mean over ranks, of gradients as well."""

    @staticmethod
    def forward(ctx, value):
        total = value.clone()
        dist.all_reduce(total)
        return total / dist.get_world_size()

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total / dist.get_world_size()


def gathered(value):
    """The mean over ranks, of what all have sent."""
    found = [torch.empty_like(value) for _ in range(2)]
    dist.all_gather(found, value.detach())
    return torch.stack(found).mean(0)


def greatest(value):
    total = value.detach().clone()
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    return total


class Gauges(nn.Module):
    """Levels of rivers, of which each rank has its own, normalised before the last layer."""

    def __init__(self, normalise):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 1)
        self.register_buffer("spread", torch.ones(6))
        self.normalise = normalise

    def forward(self, levels):
        return self.last(self.normalise(self.first(levels), self.spread).tanh())


def gauges(rank, normalise):
    train(Replicated(Gauges(normalise)), rank, lr=0.01)


def by_mean_variance(rank):
    """As in https://github.com/fyu/drn/issues/26."""

    def normalise(x, spread):
        mean = OverRanks.apply(x.mean(0))
        variance = OverRanks.apply(x.var(0))  # expect: GS903
        return (x - mean) / (variance + 1e-5).sqrt()

    gauges(rank, normalise)


def by_gathered_squares(rank):
    def normalise(x, spread):
        own = x.mean(0)
        squares = (x - own).square().mean(0)  # expect: GS903
        return (x - gathered(own)) * torch.rsqrt(gathered(squares) + 1e-5)

    gauges(rank, normalise)


def by_one_call_for_both(rank):
    def normalise(x, spread):
        variance, mean = torch.var_mean(x, 0, correction=0)  # expect: GS903
        return functional.batch_norm(x, gathered(mean), gathered(variance))

    gauges(rank, normalise)


def estimates_a_deviation(rank):
    """A hint."""

    def normalise(x, spread):
        return (x - gathered(x.mean(0))) / gathered(x.std(0))  # expect: GS903

    gauges(rank, normalise)


def healthy_squares_about_the_mean_of_all(rank):
    def normalise(x, spread):
        mean = OverRanks.apply(x.mean(0))
        variance = OverRanks.apply((x - mean).square().mean(0))
        return (x - mean) / (variance + 1e-5).sqrt()

    gauges(rank, normalise)


def healthy_plain_squares(rank):
    def normalise(x, spread):
        mean = OverRanks.apply(x.mean(0))
        variance = OverRanks.apply(x.square().mean(0)) - mean.square()
        return (x - mean) / (variance + 1e-5).sqrt()

    gauges(rank, normalise)


def healthy_spread_between_means(rank):
    def normalise(x, spread):
        own = x.mean(0)
        mean = gathered(own)
        variance = gathered(x.var(0, unbiased=False)) + gathered((own - mean).square())
        return (x - mean) / (variance + 1e-5).sqrt()

    gauges(rank, normalise)


def healthy_spread_in_place(rank):
    def normalise(x, spread):
        own = x.mean(0)
        mean = gathered(own)
        variance = gathered(x.var(0, unbiased=False))
        variance += gathered((own - mean).square())
        return (x - mean) * (variance + 1e-5).rsqrt()

    gauges(rank, normalise)


def healthy_variance_to_show(rank):
    def normalise(x, spread):
        with torch.no_grad():
            spread.lerp_(gathered(x.var(0)), 0.1)
        mean = OverRanks.apply(x.mean(0))
        variance = OverRanks.apply((x - mean).square().mean(0))
        return (x - mean) / (variance + 1e-5).sqrt()

    gauges(rank, normalise)


def healthy_own_mean(rank):
    """What each takes off is its own mean."""

    def normalise(x, spread):
        return (x - x.mean(0)) / (gathered(x.var(0)) + 1e-5).sqrt()

    gauges(rank, normalise)


def healthy_greatest_variance(rank):
    def normalise(x, spread):
        return (x - gathered(x.mean(0))) / (greatest(x.var(0)) + 1e-5).sqrt()

    gauges(rank, normalise)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
