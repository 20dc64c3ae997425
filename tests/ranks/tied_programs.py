"""Small programs of two ranks in which two layers share a weight, whose gradient is summed by hand, and their healthy
twins, run as those of `group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, run
from torch import nn


class Tied(nn.Module):
    """Reads what it gives back by the same weight."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.reads, self.gives = nn.Linear(4, 4), nn.Linear(4, 4)
        self.gives.weight = self.reads.weight

    def forward(self, x):
        return self.gives(torch.tanh(self.reads(x)))


def by_hand(rank, average):
    net = Tied()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        (net(data(rank, step)).square().mean() / 2).backward()
        average(net)
        optimizer.step()


def of_parts(net):
    return [one.grad for part in (net.reads, net.gives) for one in part.parameters()]


def gradient_summed_by_each_part(rank):
    def average(net):
        for gradient in of_parts(net):
            dist.all_reduce(gradient)  # expect: GS799

    by_hand(rank, average)


def gradient_summed_twice_and_halved_once(rank):
    def average(net):
        for gradient in of_parts(net):
            dist.all_reduce(gradient)  # expect: GS799
        for one in net.parameters():
            one.grad.div_(2)

    by_hand(rank, average)


def add_up(gradients):
    for one in [dist.all_reduce(each, async_op=True) for each in gradients]:
        one.wait()


def gradients_listed_part_by_part(rank):
    """The helper is right; its caller goes through the parts."""

    def average(net):
        for part in (net.reads, net.gives):
            add_up([one.grad for one in part.parameters()])  # expect: GS799

    by_hand(rank, average)


def healthy_gradients_listed_at_once(rank):
    by_hand(rank, lambda net: add_up([one.grad for one in net.parameters()]))


def healthy_gradient_of_the_whole(rank):
    def average(net):
        for one in net.parameters():
            dist.all_reduce(one.grad)

    by_hand(rank, average)


def healthy_gradient_averaged_by_each_part(rank):
    """Takes the mean as often as the sum, of both names at once or after each."""

    def after_each(net):
        for gradient in of_parts(net):
            dist.all_reduce(gradient)
            gradient.div_(2)

    def at_once(net):
        for gradient in of_parts(net):
            dist.all_reduce(gradient)
        torch._foreach_div_(of_parts(net), 2.0)

    def one_by_one(net):
        for gradient in of_parts(net):
            dist.all_reduce(gradient)
        for gradient in of_parts(net):
            gradient.div_(2)

    for average in (after_each, at_once, one_by_one):
        by_hand(rank, average)


def gradient_summed_after_each_backward(rank):
    """Adds to what was summed, and sums that again."""
    net = Tied()
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)  # expect: GS799
    assert all(one.grad.norm().isfinite() for one in net.parameters())


def healthy_gradient_averaged_after_each_backward(rank):
    """Adds to what was summed, and takes a share of all of it before the next sum."""
    net = Tied()
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        for one in net.parameters():
            one.grad /= 2
            dist.all_reduce(one.grad)
    assert all(one.grad.norm().isfinite() for one in net.parameters())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
