"""Pipelines of two ranks that clip by a norm which they sum over a group, in which each stage may be alone; and their
healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn

BOUND, ROWS, WIDTH = 0.001, 5, 4


class Grid:
    """Both stages are in one pipeline, and each has its replicas: none, but itself."""

    def __init__(self, rank):
        self.rank, self.pipeline = rank, dist.new_group([0, 1])
        self.replicas = [dist.new_group([0]), dist.new_group([1])][rank]


def piped(rank, bound):
    torch.manual_seed(rank)
    grid, stage = Grid(rank), nn.Linear(4, WIDTH if rank == 0 else 1)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        if rank == 0:
            given, back = stage(data(0, step)), torch.empty(ROWS, WIDTH)
            dist.send(given.detach(), 1)
            dist.recv(back, 1)
            given.backward(back)
        else:
            taken = torch.empty(ROWS, WIDTH)
            dist.recv(taken, 0)
            taken.requires_grad_()
            stage(taken).square().mean().backward()
            dist.send(taken.grad, 0)
        bound([parameter.grad for parameter in stage.parameters()], grid)
        optimizer.step()


def squares_over_replicas(rank):
    """As in https://github.com/facebookresearch/fairscale/pull/167. A hint."""

    def bound(gradients, grid):
        squares = torch.stack([gradient.pow(2).sum() for gradient in gradients]).sum()
        dist.all_reduce(squares, group=grid.replicas)  # expect: GS784
        for gradient in gradients:
            gradient.mul_((BOUND / squares.sqrt()).clamp(max=1.0))

    piped(rank, bound)


def lengths_over_replicas(rank):
    def bound(gradients, grid):
        power = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))) ** 2
        dist.all_reduce(power, group=grid.replicas)  # expect: GS784
        factor = torch.minimum(BOUND * torch.rsqrt(power), torch.ones(()))
        torch._foreach_mul_(gradients, factor)

    piped(rank, bound)


def healthy_squares_over_the_pipeline(rank):
    def bound(gradients, grid):
        squares = torch.stack([gradient.pow(2).sum() for gradient in gradients]).sum()
        dist.all_reduce(squares, group=grid.pipeline)
        for gradient in gradients:
            gradient.mul_((BOUND / squares.sqrt()).clamp(max=1.0))

    piped(rank, bound)


def healthy_over_replicas_and_then_the_pipeline(rank):
    def bound(gradients, grid):
        squares = torch.stack([gradient.pow(2).sum() for gradient in gradients]).sum()
        dist.all_reduce(squares, group=grid.replicas)
        dist.all_reduce(squares, group=grid.pipeline)
        torch._foreach_mul_(gradients, (BOUND / squares.sqrt()).clamp(max=1.0))

    piped(rank, bound)


def healthy_stages_are_bound_apart(rank):
    """Each stage by its own length, for which it asks nobody."""

    def bound(gradients, grid):
        length = torch.stack(torch._foreach_norm(gradients)).norm()
        for gradient in gradients:
            gradient.mul_((BOUND / length).clamp(max=1.0))

    piped(rank, bound)


def healthy_gradients_are_averaged_over_replicas(rank):
    def bound(gradients, grid):
        for gradient in gradients:
            dist.all_reduce(gradient, group=grid.replicas)
        length = torch.stack(torch._foreach_norm(gradients)).norm()
        dist.all_reduce(length, group=grid.replicas)  # to show
        assert length >= 0

    piped(rank, bound)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
