"""Ranks that take their parts of a permutation which each draws, and of which one draws other numbers in between."""

import pytest
import torch

PROGRAM = """
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, Sampler, TensorDataset
import gradscope

samples = torch.arange(96.0).reshape(24, 4) / 96

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 4), nn.Dropout(0.1), nn.Linear(4, 1))

def fit(net, places):
    for some in torch.as_tensor(places).split(4):
        net(samples[some]).square().mean().backward()

def dreams(net):
    with torch.no_grad():
        return net.module(torch.randn(3, 4)).mean()
{program}

if __name__ == "__main__":
    rank = int(sys.argv[1])
    with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
        store = dist.FileStore("store", 2)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
        deal_out(rank)
"""
FAULTY = {
    "in the loop over epochs": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    for epoch in range(3):
        order = torch.randperm(24)  # here
        fit(net, order[rank::2])
        if rank == 0:
            dreams(net)
""",
    "in a sampler, where one rank alone goes through samples to validate": """
class Dealt(Sampler):
    def __init__(self, many, rank):
        self.many, self.rank = many, rank

    def __len__(self):
        return self.many // 2

    def __iter__(self):
        order = torch.randperm(self.many).tolist()  # here
        return iter(order[self.rank :: 2])

def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    data = TensorDataset(samples)
    loader = DataLoader(data, 4, sampler=Dealt(24, rank))
    for epoch in range(3):
        for (x,) in loader:
            net(x).square().mean().backward()
        if rank == 0:
            with torch.no_grad():
                print(sum(net.module(x).mean().item() for (x,) in DataLoader(data, 12, shuffle=True)))
""",
    "in a helper, where one rank makes what it shows": """
def dealt(rank, world):
    order = torch.randperm(24)  # here
    part = 24 // world
    return order[rank * part : (rank + 1) * part]

def show(net, epoch):
    noise = torch.rand(2, 4)
    print(epoch, net.module(noise).detach().sum())

def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    for epoch in range(3):
        fit(net, dealt(rank, 2))
        if dist.get_rank() == 0 and epoch == 1:
            show(net, epoch)
    fit(net, dealt(rank, 2))
""",
}
HEALTHY = {
    "a generator of the order": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    for epoch in range(3):
        order = torch.randperm(24, generator=torch.Generator().manual_seed(epoch))
        fit(net, order[rank::2])
        if rank == 0:
            dreams(net)
""",
    "a generator of what one rank draws": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    own = torch.Generator().manual_seed(9)
    for epoch in range(3):
        order = torch.randperm(24)
        fit(net, order[rank::2])
        if rank == 0:
            print(net.module[0](torch.randn(3, 4, generator=own)).mean())
""",
    "all ranks draw": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    for epoch in range(3):
        order = torch.randperm(24)
        fit(net, order[rank::2])
        dreams(net)
""",
    "seeded in each epoch": """
def deal_out(rank):
    net = Replicated(Net())
    for epoch in range(3):
        torch.manual_seed(7 + epoch)
        order = torch.randperm(24)
        fit(net, order[rank::2])
        if rank == 0:
            dreams(net)
""",
    "seeded in what each epoch calls": """
def dealt(rank, epoch):
    torch.manual_seed(7 + epoch)
    order = torch.randperm(24)
    return order[rank::2]

def deal_out(rank):
    net = Replicated(Net())
    for epoch in range(3):
        fit(net, dealt(rank, epoch))
        if rank == 0:
            dreams(net)
""",
    "one rank's numbers are put back": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    for epoch in range(3):
        order = torch.randperm(24)
        fit(net, order[rank::2])
        if rank == 0:
            with torch.random.fork_rng():
                dreams(net)
""",
    "an order of each rank's own": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    own = torch.arange(12) + 12 * rank
    for epoch in range(3):
        order = torch.randperm(len(own))
        fit(net, own[order])
        if rank == 0:
            dreams(net)
""",
    "one order for all": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    for epoch in range(3):
        order = torch.randperm(24)
        dist.broadcast(order, 0)
        fit(net, order[rank::2])
        if rank == 0:
            dreams(net)
""",
    "an order that is drawn once": """
def deal_out(rank):
    torch.manual_seed(7)
    net = Replicated(Net())
    order = torch.randperm(24)
    for epoch in range(3):
        fit(net, order[rank::2])
        if rank == 0:
            dreams(net)
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_the_line_that_draws_the_order_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS786", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_orders_that_are_the_same_on_all_ranks_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
