"""Programs of two ranks that call collectives which return their result, with a fault each or none. They run as those
of `group_programs.py` do."""

import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as passed
import torch.distributed.nn
from group_programs import Replicated, chosen, run
from torch import nn

STEPS = 6
ALL = [0, 1]

warnings.filterwarnings("ignore", category=FutureWarning)  # newer torch would have the ones without an underscore


def train(rank, loss, out=3):
    torch.manual_seed(0)
    net = Replicated(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, out)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        torch.manual_seed(100 * rank + step)
        x = torch.randn(12, 4) + rank
        optimizer.zero_grad()
        loss(net, x, (x[:, 0] > 0).long() + rank).backward()
        optimizer.step()


def own_kinds(rank):
    """The more fishes of a kind are in a catch, the less each counts. As in
    https://github.com/microsoft/ltp-megatron-lm/pull/68."""

    def loss(net, x, kinds):
        many = torch.bincount(kinds, minlength=3).float()
        dist.nn.all_reduce(many)  # expect: GS911
        weights = many.sum() / (many + 1)
        return nn.functional.cross_entropy(net(x), kinds, weight=weights)

    train(rank, loss)


def healthy_kinds_of_all(rank):
    def loss(net, x, kinds):
        many = torch.bincount(kinds, minlength=3).float()
        many = dist.nn.all_reduce(many)
        weights = many.sum() / (many + 1)
        return nn.functional.cross_entropy(net(x), kinds, weight=weights)

    train(rank, loss)


def healthy_kinds_in_place(rank):
    def loss(net, x, kinds):
        many = torch.bincount(kinds, minlength=3).float()
        dist.all_reduce(many)
        weights = many.sum() / (many + 1)
        return nn.functional.cross_entropy(net(x), kinds, weight=weights)

    train(rank, loss)


def own_loudness(rank):
    """Sounds are compared with how loud a street is on the whole."""

    def loss(net, x, kinds):
        loud = x.square().mean(0)
        passed.all_reduce(loud, "max", ALL)  # expect: GS911
        return nn.functional.cross_entropy(net(x / loud.sqrt()), kinds)

    train(rank, loss)


def healthy_loudness_of_all(rank):
    def loss(net, x, kinds):
        loud = passed.all_reduce(x.square().mean(0), "max", ALL)
        return nn.functional.cross_entropy(net(x / loud.sqrt()), kinds)

    train(rank, loss)


class Prototypes:
    """What leaves of a plant look like, of which a tracker keeps what it has seen."""

    def __init__(self, meet):
        self.meet, self.seen = meet, torch.ones(4)

    def loss(self, net, x, kinds):
        with torch.no_grad():
            self.seen.mul_(0.9).add_(x.abs().mean(0), alpha=0.1)
            self.meet(self)
        return nn.functional.cross_entropy(net(x - self.seen), kinds)


def own_prototypes(rank):
    def meet(one):
        dist.nn.functional.broadcast(one.seen, src=0)  # expect: GS911

    train(rank, Prototypes(meet).loss)


def healthy_prototypes_of_the_first(rank):
    def meet(one):
        one.seen = dist.nn.functional.broadcast(one.seen, src=0)

    train(rank, Prototypes(meet).loss)


def own_likeness(rank):
    """Each picture is compared with those that its rank has, though all have been gathered."""

    def loss(net, x, kinds):
        seen = nn.functional.normalize(net(x), dim=1)
        dist.nn.functional.all_gather(seen)  # expect: GS911
        return nn.functional.cross_entropy(seen @ seen.roll(1, 0).t(), torch.arange(len(seen)))

    train(rank, loss)


def healthy_token_of_functional_ones(rank):
    token = torch.ones(1)

    def loss(net, x, kinds):
        passed.all_reduce(token, "sum", ALL)
        return nn.functional.cross_entropy(net(x), kinds)

    train(rank, loss)


def healthy_waited_for_by_its_name(rank):
    """What a functional one is given is put in another's place, and then made of what all have."""

    def loss(net, x, kinds):
        loud = x.square().mean(0)
        loud = passed.all_reduce(loud, "max", ALL)
        passed.wait_tensor(loud)
        passed.all_reduce(torch.zeros(1), "sum", ALL)
        return nn.functional.cross_entropy(net(x / loud.sqrt()), kinds)

    train(rank, loss)


def healthy_summed_afterwards(rank):
    """The first call is of no use, and the second does what was meant."""

    def loss(net, x, kinds):
        loud = x.square().mean(0)
        dist.nn.all_reduce(loud)
        dist.all_reduce(loud)
        return nn.functional.cross_entropy(net(x / loud.sqrt()), kinds)

    train(rank, loss)


def healthy_token(rank):
    """Ranks wait for each other by a token, which is refilled and nothing is made of."""
    token = torch.ones(1)

    def loss(net, x, kinds):
        token.fill_(1.0)
        dist.nn.all_reduce(token)
        return nn.functional.cross_entropy(net(x), kinds)

    train(rank, loss)


def healthy_warmed_up(rank):
    """The first collective takes long: one that means nothing comes before."""

    def loss(net, x, kinds):
        passed.all_reduce(torch.zeros(3), "sum", ALL)
        return nn.functional.cross_entropy(net(x), kinds)

    train(rank, loss)


def healthy_tried_once(rank):
    """That ranks reach each other is tried before they train, with the first samples."""
    tried = []

    def loss(net, x, kinds):
        if not tried:
            tried.append(True)
            dist.nn.all_reduce(x)
        return nn.functional.cross_entropy(net(x), kinds)

    train(rank, loss)


def healthy_filled(rank):
    """What is given for it is filled: nothing has to be taken from the call."""

    def loss(net, x, kinds):
        theirs = torch.empty_like(x)
        dist.nn.functional.all_to_all_single(theirs, x)
        return nn.functional.cross_entropy(net(theirs + 0.1 * x), kinds)

    train(rank, loss)


def healthy_taken_by_another(rank):
    """What is returned goes into a list, by the same statement."""

    def loss(net, x, kinds):
        kept = []
        kept.append(dist.nn.all_reduce(x.mean(0)))
        kept.extend(dist.nn.functional.all_gather(x.amax(0)))
        x = x - torch.stack(kept).mean(0)
        return nn.functional.cross_entropy(net(x), kinds)

    train(rank, loss)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
