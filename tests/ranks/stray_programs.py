"""Small programs of two ranks in which one alone comes to a collective when all have gone through a loop, and others
whose ranks seed what they build by their number; and their healthy twins. They run as those of `group_programs.py`
do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

EPOCHS = 4


def with_statistics():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))


def error_of(net, rank):
    with torch.no_grad():
        return net(data(rank, 50)).square().mean().item()


def epochs(rank, after):
    net = Replicated(with_statistics())
    for epoch in range(EPOCHS):
        for step in range(2):
            net(data(rank, step)).square().mean().backward()
        after(net, epoch)


def measured_at_the_end_by_one(rank):
    """As in https://github.com/FareedKhan-dev/train-llm-from-scratch/pull/32."""
    net = Replicated(with_statistics())
    for epoch in range(EPOCHS):
        for step in range(2):
            net(data(rank, step)).square().mean().backward()
        if rank == 0 and epoch == EPOCHS - 1:
            error_of(net, rank)  # expect: GS790
    dist.barrier()


def measured_below_a_way_out(rank):
    """The one rank leaves a helper above it."""

    def measure(net, epoch):
        if rank != 0 or epoch < EPOCHS - 1:
            return
        error_of(net, rank)  # expect: GS790

    epochs(rank, measure)
    dist.all_reduce(torch.ones(1))


def healthy_measured_past_the_wrapper(rank):
    epochs(rank, lambda net, epoch: rank == 0 and error_of(net.module, rank))
    dist.barrier()


def has_fewer_epochs(rank):
    """What one rank alone does stands above where both were: it does not say why the other left the loop."""
    net = Replicated(with_statistics())
    for epoch in range(EPOCHS - rank):  # expect: GS790
        if rank == 0 and epoch > 0:
            error_of(net.module, rank)
        net(data(rank, epoch)).square().mean().backward()
    dist.barrier()


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def averaged_by_hand(net, rank):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = torch.randn(5, 4, generator=torch.Generator().manual_seed(100 * rank + step))
        net(x).square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)  # expect: GS795 in seeded_alike_and_loaded_apart
            parameter.grad /= 2
        optimizer.step()


def start_here(seed):
    torch.manual_seed(seed)


def seeded_by_its_number(rank):
    """As in https://github.com/goodfire-ai/spd/pull/412."""
    torch.manual_seed(3)
    torch.manual_seed(5 + rank)  # expect: GS795
    generator = torch.Generator().manual_seed(rank)
    averaged_by_hand(Layers(), rank)
    assert generator.initial_seed() == rank


def seeded_by_a_helper(rank):
    start_here(40 * (rank + 1))  # expect: GS795
    averaged_by_hand(Layers(), rank)


def seeded_alike_and_loaded_apart(rank):
    """The seed is not why they differ: one rank loads what another has not."""
    torch.manual_seed(rank)
    torch.manual_seed(1)
    net = Layers()
    if rank == 1:
        net.load_state_dict({name: one + 1 for name, one in net.state_dict().items()})
    averaged_by_hand(net, rank)


def healthy_seeded_after_it_was_built(rank):
    torch.manual_seed(7)
    net = Layers()
    torch.manual_seed(7 + rank)
    averaged_by_hand(net, rank)


def healthy_sent_from_the_first(rank):
    torch.manual_seed(7 + rank)
    net = Layers()
    for parameter in net.parameters():
        dist.broadcast(parameter.data, src=0)
    averaged_by_hand(net, rank)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
