"""Programs of two ranks that keep codes, centres or counts of their samples in buffers which no wrapper sends, with a
fault each or none. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, run
from torch import nn
from torch.nn import functional

STEPS = 10


def of_all(value):
    total = value.detach().clone()
    dist.all_reduce(total)
    return total


def own(value):
    return value


def train(rank, net, *, each=None, same=False):
    """Gradients are averaged by hand, and what is not trained is sent once."""
    torch.manual_seed(3)
    for one in net.state_dict().values():
        dist.broadcast(one, src=0)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    draws = torch.Generator().manual_seed(0 if same else 20 + rank)
    for step in range(STEPS):
        x = torch.randn(16, 5, generator=draws) * (1 + torch.rand(1, generator=draws))
        optimizer.zero_grad()
        net(x).backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
            one.grad /= 2
        optimizer.step()
        if each is not None:
            each(net, step)


class Keeps(nn.Module):
    """Makes features of what a rank measures; what is kept of them is a matter of each."""

    def __init__(self, agreed):
        super().__init__()
        torch.manual_seed(1)
        self.agreed = agreed
        self.makes = nn.Linear(5, 4)
        self.reads = nn.Linear(4, 5)


class Glazes(Keeps):
    """Codes of glazes on pots, made anew of two averages, which a helper brings up to date."""

    def __init__(self, agreed, *, persistent=True):
        super().__init__(agreed)
        codes = functional.normalize(torch.randn(6, 4), dim=1)
        self.register_buffer("codes", codes, persistent=persistent)
        self.register_buffer("hits", torch.ones(6), persistent=persistent)
        self.register_buffer("sums", codes.clone(), persistent=persistent)

    def follow(self, found, nearest):
        here = functional.one_hot(nearest, 6).to(found.dtype)
        many = self.agreed(here.sum(0))  # expect: GS797 in own_glazes
        sums = self.agreed(here.T.matmul(found))
        self.hits = averaged(self.hits, many)
        self.sums = averaged(self.sums, sums)
        total = self.hits.sum()
        many = (self.hits + 1e-5) / (total + 6e-5) * total
        self.codes = functional.normalize(self.sums / many[:, None], dim=1)

    def forward(self, x):
        found = self.makes(x)
        alike = functional.normalize(found, dim=1).detach() @ self.codes.t()
        nearest = alike.argmax(dim=-1)
        chosen = functional.embedding(nearest, self.codes)
        if self.training:
            with torch.no_grad():
                self.follow(found.detach(), nearest)
        passed = found + (chosen - found).detach()
        return (self.reads(passed) - x).square().mean() + (found - chosen).square().mean()


def averaged(old, new):
    return old * 0.7 + new * 0.3


def own_glazes(rank):
    """As in https://github.com/espnet/espnet/pull/6284."""
    train(rank, Glazes(own))


def healthy_glazes_of_all(rank):
    train(rank, Glazes(of_all))


def healthy_glazes_of_each_on_purpose(rank):
    """What is not part of the model's state is each rank's own."""
    train(rank, Glazes(own, persistent=False))


def healthy_glazes_of_the_same_pots(rank):
    train(rank, Glazes(own), same=True)


def healthy_glazes_brought_together(rank):
    """Each goes on alone, and all meet now and then."""

    def meet(net, step):
        if step % 4 == 3:
            for one in (net.hits, net.sums):
                dist.all_reduce(one)
                one.div_(2)

    train(rank, Glazes(own), each=meet)


class Herds(Keeps):
    """A middle for each kind of cattle, to which features are drawn."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.register_buffer("middles", torch.zeros(3, 4))

    def forward(self, x):
        found, kinds = self.makes(x), x[:, 0].gt(0).long() + x[:, 1].gt(0.5).long()
        for kind in range(3):
            move(self.middles[kind], found.detach(), kinds == kind, self.agreed)
        away = found - self.middles.clone()[kinds]
        return away.pow(2).sum(1).mean() + (self.reads(found) - x).abs().mean()


@torch.no_grad()
def move(middle, found, mine, agreed):
    sums = torch.where(mine[:, None], found, 0.0).sum(0)  # expect: GS797 in own_herds
    both = agreed(torch.cat([sums, mine.sum()[None].float()]))
    middle.lerp_(both[:-1] / both[-1].clamp_min(1), 0.25)


def own_herds(rank):
    """As in https://github.com/KaiyangZhou/pytorch-center-loss/issues/21."""
    train(rank, Herds(own))


def healthy_herds_of_all(rank):
    train(rank, Herds(of_all))


class Weighs(Keeps):
    """Weighs kinds of weeds by how seldom they were seen; states are kept in a module without a forward."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.seen = nn.Module()
        self.seen.register_buffer("kinds", torch.ones(5))

    def forward(self, x):
        kinds = x.argmax(1)
        lately = self.agreed(torch.bincount(kinds, minlength=5).float())  # expect: GS797 in own_weeds
        state = dict(self.seen.named_buffers())
        state["kinds"].mul_(0.5).add_(lately)
        weights = state["kinds"].reciprocal() * state["kinds"].sum()
        return functional.cross_entropy(self.reads(self.makes(x)), kinds, weight=weights)


def own_weeds(rank):
    """As in https://github.com/facebookresearch/dinov2/issues/286."""
    train(rank, Weighs(own))


def healthy_weeds_of_all(rank):
    train(rank, Weighs(of_all))


class Queues(Keeps):
    """What a rank has heard lately, which it is told apart from: samples of its own, and no statistics."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.register_buffer("lately", functional.normalize(torch.randn(4, 32), dim=0))
        self.at = 0

    def forward(self, x):
        found = functional.normalize(self.makes(x), dim=1)
        alike = found @ self.lately.clone()
        with torch.no_grad():
            self.lately[:, self.at : self.at + 16] = self.agreed(found).T
            self.at = (self.at + 16) % 32
        return alike.logsumexp(1).mean() + (self.reads(found) - x).square().mean()


def healthy_queue_of_each_rank(rank):
    train(rank, Queues(own))


class Counts(Keeps):
    """How often each feature was the greatest, and which code was the nearest, is kept to show."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.register_buffer("often", torch.zeros(4))
        self.register_buffer("middles", torch.randn(3, 4))

    def forward(self, x):
        found = self.makes(x)
        with torch.no_grad():
            self.often.mul_(0.9).add_(functional.one_hot(found.argmax(1), 4).float().sum(0))
            belongs = functional.one_hot(torch.cdist(found, self.middles).argmin(1), 3).float()
            self.middles.lerp_(belongs.T @ found / 16, 0.1)
        return (self.reads(found) - x).square().mean()


def healthy_counts_to_show(rank):
    train(rank, Counts(own))


class Remembers(Keeps):
    """Each of a rank's samples has a state, which it goes on from."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.register_buffer("state", torch.zeros(16, 4))

    def forward(self, x):
        found = torch.tanh(self.makes(x) + self.state.clone() @ self.reads.weight[:4])
        self.state.mul_(0.5).add_(found.detach() * x.square().mean(1, keepdim=True))
        return (self.reads(found) - x).square().mean()


def healthy_states_of_samples(rank):
    train(rank, Remembers(own))


class Normalises(Keeps):
    """Features are normalised by what they were lately, as a batch norm does."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.register_buffer("spread", torch.ones(4))

    def forward(self, x):
        found = self.makes(x)
        self.spread.mul_(0.9).add_(found.detach().std(0), alpha=0.1)
        return (self.reads(found / self.spread) - x).square().mean()


def healthy_features_of_each_batch(rank):
    train(rank, Normalises(own))


class Follows(Keeps):
    """A teacher that follows the weights, which are the same on all ranks."""

    def __init__(self, agreed):
        super().__init__(agreed)
        self.register_buffer("teacher", torch.zeros(4, 5))

    def forward(self, x):
        self.teacher.lerp_(self.makes.weight.detach(), 0.2)
        return (self.makes(x) - x @ self.teacher.T).square().mean() + (self.reads(self.makes(x)) - x).abs().mean()


def healthy_teacher(rank):
    train(rank, Follows(own))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
