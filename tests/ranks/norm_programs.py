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


class Kept(nn.Module):
    """Levels that are normalised by estimates, which are brought up to date before."""

    def __init__(self, learn):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 1)
        self.register_buffer("level", torch.zeros(4))
        self.register_buffer("spread", torch.ones(4))
        self.register_buffer("count", torch.zeros(()))
        self.learn = learn

    def forward(self, levels):
        with torch.no_grad():
            self.count += len(levels)
            self.learn(self, levels, len(levels) / self.count)
        levels = (levels - self.level) / (self.spread + 1e-2).sqrt()
        return self.last(self.first(levels).tanh())


def kept(rank, learn):
    """Gradients are averaged by hand, all at once."""
    net = Kept(learn)
    parameters = list(net.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for step in range(8):
        optimizer.zero_grad()
        torch.manual_seed(100 * rank + step)
        net(torch.randn(5, 4) + 3 * rank).square().mean().backward()
        flat = gathered(torch.cat([one.grad.reshape(-1) for one in parameters]))
        for one, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
            one.grad.copy_(part.view_as(one))
        optimizer.step()


def keeps_mean_variances(rank):
    """A hint, as in https://github.com/leggedrobotics/rsl_rl/pull/226."""

    def learn(net, levels, rate):
        mean = gathered(levels.mean(0))
        variance = gathered(levels.var(0))  # expect: GS903
        change = mean - net.level
        net.level += rate * change
        net.spread += rate * (variance - net.spread + change * (mean - net.level))

    kept(rank, learn)


def keeps_mean_squares(rank):
    def learn(net, levels, rate):
        own = levels.mean(0)
        squares = (levels - own).square().mean(0)  # expect: GS903
        net.level.lerp_(OverRanks.apply(own), 0.2)
        net.spread.mul_(0.8).add_(OverRanks.apply(squares), alpha=0.2)

    kept(rank, learn)


def keeps_both_of_one_call(rank):
    def learn(net, levels, rate):
        variance, mean = torch.var_mean(levels, 0)  # expect: GS903
        dist.all_reduce(variance)
        dist.all_reduce(mean)
        net.level.copy_(mean / 2)
        net.spread.copy_(variance / 2)

    kept(rank, learn)


def healthy_merges_rank_by_rank(rank):
    """What each has is added to the estimates with its own mean."""

    def learn(net, levels, rate):
        means, variances = ([torch.empty(4) for _ in range(2)] for _ in range(2))
        dist.all_gather(means, levels.mean(0))
        dist.all_gather(variances, levels.var(0, unbiased=False))
        for mean, variance in zip(means, variances, strict=True):
            change = mean - net.level
            net.level += rate * change
            net.spread += rate * (variance - net.spread + change * (mean - net.level))

    kept(rank, learn)


def healthy_keeps_the_spread_as_well(rank):
    def learn(net, levels, rate):
        own = levels.mean(0)
        mean = gathered(own)
        net.level.lerp_(mean, 0.2)
        net.spread.lerp_(gathered(levels.var(0)), 0.2)
        net.spread += 0.2 * gathered((own - mean).square())

    kept(rank, learn)


def healthy_sends_squares_about_the_mean_of_all(rank):
    def learn(net, levels, rate):
        own = levels.mean(0)
        mean = gathered(own)
        net.level.lerp_(mean, 0.2)
        net.spread.lerp_(gathered(levels.var(0, unbiased=False) + (own - mean) ** 2), 0.2)

    kept(rank, learn)


def healthy_spread_of_gathered_means(rank):
    def learn(net, levels, rate):
        means = [torch.empty(4) for _ in range(2)]
        dist.all_gather(means, levels.mean(0))
        means = torch.stack(means)
        net.level.lerp_(means.mean(0), 0.2)
        net.spread.lerp_(gathered(levels.var(0)) + means.var(0, unbiased=False), 0.2)

    kept(rank, learn)


def healthy_keeps_plain_squares(rank):
    def learn(net, levels, rate):
        net.level.copy_(gathered(levels.mean(0)))
        net.spread.copy_(gathered(levels.square().mean(0)) - net.level.square())

    kept(rank, learn)


def healthy_estimates_brought_together(rank):
    """Each rank keeps its own, and they are averaged now and then, as those of BatchNorm may be."""

    def learn(net, levels, rate):
        net.level.lerp_(levels.mean(0), 0.2)
        net.spread.lerp_(levels.var(0), 0.2)
        for one in (net.level, net.spread):
            one.copy_(gathered(one))

    kept(rank, learn)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
