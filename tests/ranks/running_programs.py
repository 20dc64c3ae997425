"""Programs of two ranks that normalise by statistics which they keep, with a fault each or none. They run as those of
`group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, run
from torch import nn

STEPS = 10


def of_all(value):
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def own(value):
    return value


class Plain(nn.Module):
    """Lets samples through."""

    def forward(self, x):
        return x

    def see(self, x):
        pass


class Sums(Plain):
    """Counts and sums of all that a river's gauge has read."""

    def __init__(self, agreed):
        super().__init__()
        self.agreed = agreed
        self.register_buffer("many", torch.zeros(1))
        self.register_buffer("sums", torch.zeros(4))
        self.register_buffer("squares", torch.zeros(4))

    def see(self, x):
        many = torch.full((1,), float(len(x)))
        seen = self.agreed(torch.cat([many, x.sum(0), x.square().sum(0)]))  # expect: GS797 in own_sums
        self.many += seen[:1]
        self.sums += seen[1:5]
        self.squares += seen[5:]

    def forward(self, x):
        mean = self.sums / self.many
        variance = (self.squares / self.many - mean.square()).clamp_min(1e-4)
        return (x - mean) / variance.sqrt()


class Follows(Plain):
    """Follows the loudness of streets in its forward."""

    def __init__(self, agreed, *, persistent=True):
        super().__init__()
        self.agreed = agreed
        self.register_buffer("mean", torch.zeros(4), persistent=persistent)
        self.register_buffer("variance", torch.ones(4), persistent=persistent)

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                squares = self.agreed((x - self.mean).square().mean(0))  # expect: GS797 in own_levels
                self.variance.lerp_(squares, 0.1)
                self.mean.lerp_(self.agreed(x.mean(0)), 0.1)
        return ((x - self.mean) * torch.rsqrt(self.variance + 1e-5)).clamp(-5, 5)


class Rebinds(Plain):
    """Puts other tensors in the place of its own, of the heights of waves."""

    def __init__(self, agreed):
        super().__init__()
        self.agreed = agreed
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("spread", torch.ones(4))

    @torch.no_grad()
    def see(self, x):
        self.mean = 0.9 * self.mean + 0.1 * self.agreed(x.mean(0))  # expect: GS797 in own_heights
        self.spread = 0.9 * self.spread + 0.1 * self.agreed(x.square().mean(0)).sqrt()

    def forward(self, x):
        return (x - self.mean) / (self.spread + 1e-3)


class Merges(Plain):
    """Puts what a slope's snow is like today together with what it was like before, as Chan's formula does."""

    def __init__(self, agreed):
        super().__init__()
        self.agreed = agreed
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("variance", torch.ones(4))
        self.register_buffer("many", torch.ones(1))

    @torch.no_grad()
    def see(self, x):
        depths = x.clamp_min(-20)
        parts = torch.stack([depths.sum(0), depths.square().sum(0)])  # expect: GS797 in own_depths
        sums, squares = self.agreed(parts)
        mean = sums / len(x)
        apart = mean - self.mean
        many = self.many + len(x)
        spread = self.variance * self.many + squares - len(x) * mean.square()
        self.variance.copy_((spread + apart.square() * self.many * len(x) / many) / many)
        self.mean += apart * len(x) / many
        self.many.copy_(many)

    def forward(self, x):
        return (x - self.mean) / (self.variance + 1e-3).sqrt()


class OfBatches(Follows):
    """Normalises by the batch, and keeps for later what is to be normalised by then, as torch's own does."""

    def forward(self, x):
        variance, mean = torch.var_mean(x, 0)
        with torch.no_grad():
            self.variance.lerp_(variance, 0.1)
            self.mean.lerp_(mean, 0.1)
        return (x - mean) / (variance + 1e-5).sqrt()


class AtTimes(Rebinds):
    """Is made equal now and then, by the program."""

    def meet(self):
        self.mean, self.spread = of_all(self.mean), of_all(self.spread)


def train(rank, kept, first=list, each=lambda kept, step: None):
    torch.manual_seed(0)
    net = nn.Sequential(*first(), kept, nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        torch.manual_seed(100 * rank + step)
        x = (1 + rank) * torch.randn(8, 4) + 3 * rank
        kept.see(x)
        optimizer.zero_grad()
        (net(x) - x[:, :1]).square().mean().backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
            one.grad /= 2
        optimizer.step()
        each(kept, step)


def own_sums(rank):
    """As in https://github.com/leggedrobotics/rsl_rl/pull/226."""
    train(rank, Sums(own))


def healthy_sums_of_all(rank):
    train(rank, Sums(of_all))


def own_levels(rank):
    train(rank, Follows(own))


def healthy_levels_of_all(rank):
    train(rank, Follows(of_all))


def own_heights(rank):
    train(rank, Rebinds(own))


def healthy_heights_of_all(rank):
    train(rank, Rebinds(of_all))


def own_depths(rank):
    train(rank, Merges(own))


def healthy_depths_of_all(rank):
    train(rank, Merges(of_all))


def healthy_of_each_rank_on_purpose(rank):
    """What is not part of the model's state is each rank's own."""
    train(rank, Follows(own, persistent=False))


def healthy_normalised_by_batches(rank):
    train(rank, OfBatches(own))


def healthy_normalised_by_torchs_own(rank):
    train(rank, Plain(), first=lambda: [nn.BatchNorm1d(4)])


def healthy_features_of_each_batch(rank):
    """What a layer learns to make is normalised by what it made lately, as BatchRenorm does."""
    train(rank, Follows(own), first=lambda: [nn.Linear(4, 4)])


def healthy_made_equal_at_times(rank):
    train(rank, AtTimes(own), each=lambda kept, step: kept.meet() if step == 7 else None)


def healthy_kept_to_show(rank):
    """What is kept of samples normalises none."""

    class Shows(Sums):
        def forward(self, x):
            return x * torch.ones_like(self.sums)

    train(rank, Shows(own))


def healthy_first_statistics_of_all(rank):
    """Each rank goes on from what all had seen, and does not any more."""
    kept = Follows(of_all)
    train(rank, kept, each=lambda kept, step: kept.eval() if step == 3 else None)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
