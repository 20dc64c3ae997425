"""Small programs of two ranks whose optimizers hold parameters of their own, and that put the norms of these together
to scale their gradients; and their healthy twins. They run as those of `group_programs.py` do."""

import math
import sys

import torch
from group_programs import chosen, run
from owned_programs import BOUND, owning
from torch import distributed as dist


def scaled(own, total):
    for parameter in own:
        parameter.grad.mul_(torch.clamp(BOUND / (total + 1e-6), max=1.0))


def own_norm(own):
    return torch.linalg.vector_norm(torch.stack([parameter.grad.norm() for parameter in own]))


def of_both(value):
    found = [torch.zeros_like(value) for _ in range(2)]
    dist.all_gather(found, value)
    return found


def greatest_of_the_owners(rank):
    """As in https://github.com/facebookresearch/fairscale/pull/167."""

    def scale(own, net):
        norms = of_both(own_norm(own))
        scaled(own, torch.stack(norms).amax())  # expect: GS784

    owning(rank, scale, collect=dist.reduce)


def greatest_by_the_collective(rank):
    def scale(own, net):
        total = torch.sqrt(sum(parameter.grad.norm(2).square() for parameter in own))
        dist.all_reduce(total, op=dist.ReduceOp.MAX)  # expect: GS784
        scaled(own, total)

    owning(rank, scale)


def sum_of_the_norms(rank):
    def scale(own, net):
        first, second = of_both(own_norm(own))
        total = first + second  # expect: GS784
        torch._foreach_mul_([parameter.grad for parameter in own], BOUND / total)

    owning(rank, scale, collect=dist.reduce)


def healthy_norm_of_the_norms(rank):
    def scale(own, net):
        scaled(own, torch.linalg.vector_norm(torch.stack(of_both(own_norm(own))) + 1e-9))

    owning(rank, scale, collect=dist.reduce)


def healthy_sum_of_squares(rank):
    def scale(own, net):
        total = own_norm(own) ** 2
        dist.all_reduce(total)
        scaled(own, total.sqrt())

    owning(rank, scale, collect=dist.reduce)


def healthy_squares_of_both(rank):
    def scale(own, net):
        scaled(own, torch.stack(of_both(own_norm(own))).square().sum().sqrt())

    owning(rank, scale, collect=dist.reduce)


def healthy_greatest_magnitude(rank):
    """The norm that is the greatest magnitude is put together by the greatest."""

    def scale(own, net):
        total = torch.linalg.vector_norm(torch.stack([one.grad.norm(math.inf) for one in own]), math.inf)
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        scaled(own, total)

    owning(rank, scale, collect=dist.reduce)


def healthy_greatest_that_is_shown(rank):
    shown = []

    def scale(own, net):
        norms = torch.stack(of_both(own_norm(own)))
        shown.append(norms.max().item())
        scaled(own, norms.norm())

    owning(rank, scale, collect=dist.reduce)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
