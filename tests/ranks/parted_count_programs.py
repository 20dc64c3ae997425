"""Small programs of two ranks that divide by counts of their own: more than one scale in a line, in place, and in steps
of several parts; and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import chosen, model, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

MANY = 12  # steps
PARTS = 2  # backward calls of a step


class Heard(nn.Module):
    """Squares of what was heard, and a price of roughness, over how loud it was."""

    def __init__(self, met):
        super().__init__()
        self.met = met

    @torch.no_grad()
    def loudness(self, level):
        total = torch.einsum("ij->", level)
        if self.met:
            dist.all_reduce(total)
            total.div_(dist.get_world_size())
        return total.clamp_(min=1.0)

    def forward(self, out, target, level):
        gaps, steps = (out - target).square() * level, out.diff(dim=0).abs() * level[1:]
        return (0.3 * steps.sum() + gaps.sum()) / self.loudness(level)  # expect: GS783 in price_in_the_same_line


def heard(rank, step):
    torch.manual_seed(100 * rank + step)
    x = torch.randn(32, 4)
    return x, x.sum(1, keepdim=True), torch.rand(32, 1) * (0.2 if rank else 1.0)


def hear(rank, met):
    net, loss_of = Replicated(model()), Heard(met)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target, level = heard(rank, step)
        optimizer.zero_grad()
        loss_of(net(x), target, level).backward()
        optimizer.step()


def price_in_the_same_line(rank):
    """As in https://github.com/open-mmlab/mmdetection3d/issues/1522."""
    hear(rank, met=False)


def healthy_price_in_the_same_line(rank):
    hear(rank, met=True)


def songs(rank, step, low, high):
    """Notes of birds, of which some are not known."""
    torch.manual_seed(1000 * rank + step)
    x = torch.randn(int(torch.randint(low, high, (1,))), 4)
    kinds = (x.sum(1) > 0).long().masked_fill(torch.rand(len(x)) < 0.3, -100)
    kinds[0] = 1
    return x, kinds


def tell(rank, divide, lengths=((40, 60), (9, 14))):
    """Sums of losses in parts of a step; what they are divided by comes last."""
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss(reduction="sum")
    for step in range(MANY):
        known = 0
        for part in range(PARTS):
            x, kinds = songs(rank, PARTS * step + part, *lengths[rank])
            loss_of(net(x), kinds).backward()
            known = known + (kinds >= 0).sum()
        divide([one.grad for one in net.parameters()], known)
        optimizer.step()
        optimizer.zero_grad()


def average(gradients):
    for one in gradients:
        dist.all_reduce(one)
        one.div_(dist.get_world_size())


def over_what_it_knows(gradients, known):
    share = 1.0 / known.clamp(min=1)
    for one in gradients:
        one.mul_(share)  # expect: GS783 in parts_over_its_own
    average(gradients)


def over_what_all_know(gradients, known):
    dist.all_reduce(known)
    share = dist.get_world_size() / known.clamp(min=1)
    for one in gradients:
        one.mul_(share)
    average(gradients)


def sums_over_what_all_know(gradients, known):
    for one in (known, *gradients):
        dist.all_reduce(one)
    for one in gradients:
        one.div_(known)


def parts_over_its_own(rank):
    """As in https://github.com/ruimalheiro/gradient-garden/pull/113."""
    tell(rank, over_what_it_knows)


def healthy_parts_over_all(rank):
    tell(rank, over_what_all_know)


def healthy_sums_of_parts_over_all(rank):
    tell(rank, sums_over_what_all_know)


def healthy_parts_over_as_many(rank):
    """Ranks have nearly as many."""
    tell(rank, over_what_it_knows, lengths=((40, 60), (40, 60)))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
