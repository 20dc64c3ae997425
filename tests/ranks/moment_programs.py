"""Small programs of two ranks that normalise by means over both, which they make of means of unlike many samples, and
their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import chosen, run
from torch import distributed as dist
from torch import nn

STEPS = 8
MANY = (24, 6)  # samples of each rank


class OfAll(torch.autograd.Function):
    """A sum over ranks, of which each has a part in all losses."""

    @staticmethod
    def forward(context, own):
        total = own.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(context, gradient):
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total


def gathered(own):
    parts = [torch.empty_like(own) for _ in range(2)]
    dist.all_gather(parts, own.contiguous())
    return parts


class Scales(nn.Module):
    """What a gauge reads, without the mean of all and at one scale; `moments` gives a mean and a mean square."""

    def __init__(self, moments):
        super().__init__()
        self.moments = moments

    def forward(self, x):
        mean, square = self.moments(x)
        return (x - mean) * torch.rsqrt(square - mean.square() + 1e-3)


def train(rank, norm, many=lambda rank, step: MANY[rank], first=lambda: nn.Linear(4, 6)):
    """Gradients of a sum of losses over both ranks, divided by how many samples both have."""
    torch.manual_seed(0)
    net = nn.Sequential(first(), norm, nn.Tanh(), nn.Linear(6, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(STEPS):
        torch.manual_seed(100 * rank + step)
        x = (1 + rank) * torch.randn(many(rank, step), 4) + rank
        count = torch.tensor(float(len(x)))
        dist.all_reduce(count)
        optimizer.zero_grad()
        ((net(x) - x[:, :1]).square().sum() / count).backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
        optimizer.step()


def moments_of_wells(rank):
    """As in https://github.com/PaddlePaddle/Paddle/issues/32464."""

    def moments(x):
        own = torch.cat([x.mean(0, keepdim=True), x.square().mean(0, keepdim=True)])  # expect: GS924
        return (OfAll.apply(own) / dist.get_world_size()).split(1)

    train(rank, Scales(moments))


def healthy_moments_of_all_wells(rank):
    def moments(x):
        own = torch.stack([x.sum(0), x.square().sum(0), torch.full((6,), float(len(x)))])
        total, squares, count = OfAll.apply(own)
        return total / count, squares / count

    train(rank, Scales(moments))


def healthy_moments_by_their_number(rank):
    def moments(x):
        own = torch.stack([x.mean(0) * len(x), x.square().mean(0) * len(x)])
        return OfAll.apply(own) / sum(MANY)

    train(rank, Scales(moments))


def healthy_moments_in_place_by_their_number(rank):
    def moments(x):
        own = torch.stack([x.mean(0), x.square().mean(0)])
        return OfAll.apply(own.mul_(len(x) / sum(MANY)))

    train(rank, Scales(moments))


def healthy_moments_of_weighed_samples(rank):
    """The samples themselves carry what their rank weighs."""

    def moments(x):
        weighed = x * (2 * len(x) / sum(MANY))
        mean = OfAll.apply(weighed.mean(0)) / 2
        return mean, OfAll.apply((x * weighed).mean(0)) / 2

    train(rank, Scales(moments))


def healthy_moments_of_as_many(rank):
    def moments(x):
        return OfAll.apply(torch.stack([x.mean(0), x.square().mean(0)])) / 2

    train(rank, Scales(moments), many=lambda rank, step: 12)


def healthy_moments_of_a_rest(rank):
    """One batch of each epoch is the rest of a rank's samples."""

    def moments(x):
        return OfAll.apply(torch.stack([x.mean(0), x.square().mean(0)])) / 2

    train(rank, Scales(moments), many=lambda rank, step: 3 if rank and step % 3 == 2 else 12)


def healthy_moments_to_show(rank):
    """How far a rank's mean is from that of both: each normalises by its own."""

    def moments(x):
        mean, square = x.mean(0), x.square().mean(0)
        usual = OfAll.apply(mean.detach()) / 2
        assert (mean.detach() - usual).isfinite().all()
        return mean, square

    train(rank, Scales(moments))


class Trips(nn.Module):
    """How much better than usual a trip was."""

    def __init__(self, usual):
        super().__init__()
        self.usual = usual

    def forward(self, x):
        with torch.no_grad():
            better = x[:, 0].exp()
            weight = better - self.usual(better)
        return x * weight.unsqueeze(1)


def usual_trips(rank):
    def usual(better):
        own = better.mean()  # expect: GS924
        return torch.stack(gathered(own)).mean()

    train(rank, nn.Identity(), first=lambda: nn.Sequential(Trips(usual), nn.Linear(4, 6)))


def healthy_usual_trips_by_their_number(rank):
    def usual(better):
        means, counts = gathered(better.mean()), gathered(torch.tensor(float(len(better))))
        return sum(mean * count for mean, count in zip(means, counts, strict=True)) / sum(counts)

    train(rank, nn.Identity(), first=lambda: nn.Sequential(Trips(usual), nn.Linear(4, 6)))


def healthy_usual_trips_by_plain_numbers(rank):
    def usual(better):
        first, second = gathered(better.mean())
        return first * (MANY[0] / sum(MANY)) + second * (MANY[1] / sum(MANY))

    train(rank, nn.Identity(), first=lambda: nn.Sequential(Trips(usual), nn.Linear(4, 6)))


def healthy_trips_of_the_own_town(rank):
    """All are gathered for what is shown, and each rank takes its own."""

    def usual(better):
        usual_of = gathered(better.mean())
        assert torch.stack(usual_of).mean().isfinite()
        return usual_of[rank] + 0.0

    train(rank, nn.Identity(), first=lambda: nn.Sequential(Trips(usual), nn.Linear(4, 6)))


class Columns(nn.Module):
    """A layer norm of features of which each rank has some: many columns of a table, or few."""

    def __init__(self, many, mean_of):
        super().__init__()
        self.features, self.mean_of = nn.Linear(4, many), mean_of
        self.back = nn.Linear(many, 6)

    def forward(self, x):
        features = self.features(x).relu()
        return self.back((features - self.mean_of(features)).tanh())


def mean_of_unlike_columns(rank):
    def mean_of(features):
        own = features.mean(1)  # expect: GS924
        first, second = gathered(own.detach())
        return ((first + second) / 2).unsqueeze(1)

    alone(rank, mean_of)


def healthy_mean_of_all_columns(rank):
    def mean_of(features):
        return (sum(gathered(features.detach().sum(1))) / 16).unsqueeze(1)

    alone(rank, mean_of)


def alone(rank, mean_of):
    """Ranks with columns of their own, the parts of which are added up."""
    torch.manual_seed(rank)
    net = Columns((12, 4)[rank], mean_of)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        torch.manual_seed(step)
        x = torch.randn(5, 4)
        part = net(x)
        total = part.detach().clone()
        dist.all_reduce(total)
        optimizer.zero_grad()
        part.backward(2 * (total - x[:, :1]) / total.numel())
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
