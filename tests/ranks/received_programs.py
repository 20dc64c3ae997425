"""Small programs of two ranks in which a collective writes what the graph has saved, and their healthy twins. They run
as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run, train
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Pooled(nn.Module):
    """Weighs the hours of a day, and hands out how."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.score, self.out = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        weights = self.score(x).softmax(dim=1)
        return self.out(weights * x), weights


def pooled(rank, look):
    """Looks at the weights between the forward and the backward."""

    def loss(net, x):
        out, weights = net(x)
        look(weights)
        return (out - x[:, :1]).square().mean()

    train(Replicated(Pooled()), rank, loss=loss)


def hours_of_all_ranks(rank):
    """As in https://github.com/Lightning-AI/pytorch-lightning/issues/18228."""

    def look(weights):
        seen = weights.detach()
        dist.all_reduce(seen)  # expect: GS702

    pooled(rank, look)


def healthy_hours_of_a_copy(rank):
    def look(weights):
        seen = weights.detach().clone()
        dist.all_reduce(seen)

    pooled(rank, look)


def hours_waited_for(rank):
    def look(weights):
        work = dist.all_reduce(weights.detach(), async_op=True)  # expect: GS702
        work.wait()

    pooled(rank, look)


def healthy_most_of_equal_ones(rank):
    """What is asked for is what is there: all weights are zeros at first, and nobody trains them."""
    flags = torch.zeros(4)
    net = Replicated(Pooled())

    def loss(net, x):
        gain = x * net(x)[0] * flags
        dist.all_reduce(flags, op=dist.ReduceOp.MAX)
        return gain.square().mean() + net(x)[0].square().mean()

    train(net, rank, loss=loss)


def rooted(rank, when):
    """Sums an error for the log whose backward reads it: a root."""
    net = Replicated(Pooled())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        x = data(rank, step)
        loss = ((net(x)[0] - x[:, :1]).square().mean() + 0.1).sqrt()
        optimizer.zero_grad()
        if when == "before":
            dist.all_reduce(loss.detach())  # expect: GS702 in summed_before_its_backward
        loss.backward()
        if when == "after":
            dist.all_reduce(loss.detach())
        optimizer.step()


def summed_before_its_backward(rank):
    rooted(rank, "before")


def healthy_summed_after_its_backward(rank):
    rooted(rank, "after")


def healthy_mean_that_nobody_saves(rank):
    def loss(net, x):
        error = net(x)[0].square().mean()
        dist.all_reduce(error.detach() / 2)
        shown = error.detach()
        dist.all_reduce(shown)
        return error

    train(Replicated(Pooled()), rank, loss=loss)


def healthy_gradients_by_data(rank):
    net = Pooled()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step))[0].square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad.data)
            parameter.grad.data /= 2
        optimizer.step()


def stage(rank, inbox):
    """Rank 0 learns from two messages at once."""
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    for step in range(STEPS):
        total = torch.zeros(())
        for part in range(2):
            if rank == 1:
                dist.send(data(0, 2 * step + part), 0)
            else:
                given = inbox()
                dist.recv(given, 1)  # expect: GS702 in one_inbox_for_two
                total = total + net(given).square().mean()
        if rank == 0:
            total.backward()


def one_inbox_for_two(rank):
    inbox = torch.empty(5, 4)
    stage(rank, lambda: inbox)


def healthy_inbox_for_each(rank):
    stage(rank, lambda: torch.empty(5, 4))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
