"""Small programs of two ranks that call a model and a slow copy of it in another order, so that the copies have each
other's numbers; with a fault each, and their healthy twins. They run as those of `group_programs.py` do."""

import copy
import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.out(self.body(x).tanh())


def slow_copy_of(net, rank):
    """Only rank 0 looks at what the model gives before it learns."""
    slow = copy.deepcopy(net).requires_grad_(False)
    if rank == 0:
        with torch.no_grad():
            net(data(rank, 0))
    return slow


def learn(net, slow, rank, ask, average=lambda net: None, after=lambda net, step: None):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        x = data(rank, step)
        aim = slow(x) * 0.5 + x[:, :1]
        optimizer.zero_grad()
        (ask(net, x) - aim).square().mean().backward()
        average(net)
        optimizer.step()
        after(net, step)


def averaged(net):
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= 2


def inside_beside_a_slow_copy(rank):
    """As in https://github.com/jingyaogong/minimind/issues/853."""
    net = Forecast()
    slow = slow_copy_of(net, rank)
    learn(Replicated(net), slow, rank, lambda net, x: net.module(x))  # expect: GS796


def healthy_wrapper_beside_a_slow_copy(rank):
    net = Forecast()
    slow = slow_copy_of(net, rank)
    learn(Replicated(net), slow, rank, lambda net, x: net(x))


def one_writes_beside_a_slow_copy(rank):
    """What one rank writes has the number of the copy on the other."""

    def shrink(net, step):
        if rank == 1 and step == 2:  # expect: GS792
            with torch.no_grad():
                net.out.weight.mul_(0.5)

    net = Forecast()
    learn(net, slow_copy_of(net, rank), rank, lambda net, x: net(x), averaged, shrink)


def healthy_all_write_beside_a_slow_copy(rank):
    def shrink(net, step):
        if step == 2:
            with torch.no_grad():
                net.out.weight.mul_(0.5)

    net = Forecast()
    learn(net, slow_copy_of(net, rank), rank, lambda net, x: net(x), averaged, shrink)


def healthy_two_that_learn(rank):
    """Which of two is called first hangs on the rank: nothing says which is which."""
    first, second = Forecast(), Forecast()
    with torch.no_grad():
        second.out.weight.mul_(2)
    for net in (first, second) if rank == 0 else (second, first):
        net(data(rank, 0))
    for net in (first, second):
        learn(net, copy.deepcopy(net).requires_grad_(False), rank, lambda net, x: net(x), averaged)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
