"""Small programs of two ranks under fully_shard, with an optimizer that holds what was gathered or each rank's part.

They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.block, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.block(torch.tanh(self.first(x)))))


def sharded():
    from torch.distributed.fsdp import fully_shard

    net = Layers()
    fully_shard(net.block)
    fully_shard(net)
    return net


def loop(net, optimizer, rank):
    for step in range(STEPS):
        out = net(data(rank, step))
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()


def made_after_an_example(rank):
    net = sharded()
    with torch.no_grad():
        net(data(rank, 0))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)  # expect: GS788
    loop(net, optimizer, rank)


def made_after_unshard(rank):
    net = sharded()
    net.unshard()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)  # expect: GS788
    loop(net, optimizer, rank)


def made_after_a_loss(rank):
    net = sharded()
    net(data(rank, 0)).square().mean()
    groups = [{"params": [one for one in net.parameters() if one.ndim == ndim]} for ndim in (1, 2)]
    loop(net, torch.optim.Adam(groups, lr=0.01), rank)  # expect: GS788


def healthy_made_before(rank):
    net = sharded()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    with torch.no_grad():
        net(data(rank, 0))
    loop(net, optimizer, rank)


def healthy_made_after_reshard(rank):
    net = sharded()
    with torch.no_grad():
        net(data(rank, 0))
    net.reshard()
    loop(net, torch.optim.AdamW(net.parameters(), lr=0.01), rank)


def healthy_made_after_a_backward(rank):
    net = sharded()
    net(data(rank, 0)).square().mean().backward()
    loop(net, torch.optim.AdamW(net.parameters(), lr=0.01), rank)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
