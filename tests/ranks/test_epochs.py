"""Epochs that go through the samples in one order, since nobody tells the sampler which epoch it is."""

import pytest
import torch

PROGRAM = """
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
import gradscope

data = TensorDataset(torch.arange(96.0).reshape(24, 4) / 96)

def trained(net, x):
    net(x).square().mean().backward()
{program}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    torch.manual_seed(0)
    fit(Replicated(nn.Linear(4, 1)))
"""
FAULTY = {
    "never told": """
def fit(net):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 3, sampler=sampler)
    for epoch in range(3):  # here
        for (x,) in loader:
            trained(net, x)
""",
    "cut short, in a method that another one calls": """
class Trainer:
    def __init__(self, net):
        self.net, self.sampler = net, DistributedSampler(data, shuffle=True, seed=3)
        self.loader = DataLoader(data, batch_size=3, sampler=self.sampler, drop_last=True)

    def epoch(self):
        for step, (x,) in enumerate(self.loader):
            if step == 2:
                break
            trained(self.net, x)

    def fit(self):
        for self.number in range(3):  # here
            self.epoch()  # sampler.set_epoch(self.number)

def fit(net):
    Trainer(net).fit()
""",
    "until it has enough steps": """
def loaders():
    return DataLoader(data, 3, sampler=DistributedSampler(data)), DataLoader(data, 3)

def fit(net):
    step = 0
    loader, valid = loaders()
    while step < 10:  # here
        for (x,) in loader:
            trained(net, x)
            step += 1
        for (x,) in valid:
            net.module(x)
""",
}
HEALTHY = {
    "told": """
def fit(net):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 3, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            trained(net, x)
""",
    "told by its number": """
class Trainer:
    def __init__(self, net):
        self.net, self.sampler = net, DistributedSampler(data, shuffle=True, seed=3)
        self.loader = DataLoader(data, batch_size=3, sampler=self.sampler, drop_last=True)

    def epoch(self):
        for (x,) in self.loader:
            trained(self.net, x)

    def fit(self):
        for number in range(3):
            self.sampler.epoch = number
            self.epoch()

def fit(net):
    Trainer(net).fit()
""",
    "another seed in each epoch": """
def loader_of(epoch):
    return DataLoader(data, 3, sampler=DistributedSampler(data, seed=epoch))

def fit(net):
    for epoch in range(3):
        for (x,) in loader_of(epoch):
            trained(net, x)
""",
    "in order": """
def fit(net):
    loader = DataLoader(data, 3, sampler=DistributedSampler(data, shuffle=False))
    for epoch in range(3):
        for (x,) in loader:
            trained(net, x)
""",
    "one epoch": """
def fit(net):
    loader = DataLoader(data, 3, sampler=DistributedSampler(data))
    for (x,) in loader:
        trained(net, x)
""",
    "two sets of samples, once each": """
def fit(net):
    first, second = (torch.utils.data.Subset(data, range(at, at + 12)) for at in (0, 12))
    one, other = DistributedSampler(first), DistributedSampler(second)
    for loader in (DataLoader(first, 3, sampler=one), DataLoader(second, 3, sampler=other)):
        for (x,) in loader:
            trained(net, x)
""",
    "an evaluation that shuffles": """
def fit(net):
    valid = DataLoader(data, 3, sampler=DistributedSampler(data))
    for epoch in range(3):
        for step in range(3):
            trained(net, torch.randn(3, 4) + dist.get_rank())
        for (x,) in valid:
            net.module(x)
""",
    "one of its own": """
class Counting(DistributedSampler):
    def __iter__(self):
        self.epoch += 1
        return super().__iter__()

def fit(net):
    loader = DataLoader(data, 3, sampler=Counting(data))
    for epoch in range(3):
        for (x,) in loader:
            trained(net, x)
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_the_loop_over_the_epochs_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS787", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_samples_in_another_order_in_each_epoch_or_for_a_reason_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
