"""Parameters that are thawed after the wrap: the line that does it in the middle of a training, else the wrap."""

import pytest
import torch

PROGRAM = """
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
import gradscope

class Depth(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.blocks = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x).tanh()
        return self.out(x)

def fit(net, rank, steps=3):
    optimizer = torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=0.1)
    drawn = torch.Generator().manual_seed(rank)
    for step in range(steps):
        optimizer.zero_grad()
        net(torch.randn(5, 4, generator=drawn)).square().mean().backward()
        optimizer.step()

{program}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    main(rank)
"""
FAULTY = {
    "a part, by a function that gives the model back": """
# As in https://github.com/Lightning-AI/pytorch-lightning/issues/20340
def opened(depth):
    depth.blocks.requires_grad_(True)
    return depth

def main(rank):
    depth = Depth()
    depth.blocks.requires_grad_(False)
    net = Replicated(depth)
    fit(net, rank)
    net.module = opened(net.module)  # here
    fit(net, rank)
""",
    "in a method beside the wrap": """
class Survey:
    def __init__(self):
        depth = Depth()
        depth.stem.requires_grad_(False)
        self.net = Replicated(depth)

    def open(self):
        self.net.module.stem.requires_grad_(True)  # here

def main(rank):
    survey = Survey()
    fit(survey.net, rank)
    survey.open()
    fit(survey.net, rank)
""",
    "one part after the other": """
def main(rank):
    depth = Depth()
    depth.stem.requires_grad_(False)
    depth.blocks[0].requires_grad_(False)
    net = Replicated(depth)
    fit(net, rank)
    depth.blocks[0].requires_grad_()  # here
    depth.stem.requires_grad_()
    fit(net, rank)
""",
    "its parameters": """
def main(rank):
    depth = Depth()
    for one in depth.stem.parameters():
        one.requires_grad = False
    net = Replicated(depth)
    fit(net, rank)
    for one in depth.stem.parameters():
        one.requires_grad = True  # here
    fit(net, rank)
""",
    "by what a function is given": """
def train(part, flag):
    for one in part.parameters():
        one.requires_grad_(flag)

def main(rank):
    depth = Depth()
    train(depth.stem, False)
    net = Replicated(depth)
    fit(net, rank)
    train(net.module.stem, True)  # here
    fit(net, rank)
""",
    "by the flag, in a helper": """
def opened(part):
    for one in part.parameters():
        one.requires_grad = True

def main(rank):
    depth = Depth()
    for one in depth.stem.parameters():
        one.requires_grad = False
    net = Replicated(depth)
    fit(net, rank)
    opened(net.module.stem)  # here
    fit(net, rank)
""",
    "before all": """
def main(rank):
    depth = Depth()
    depth.stem.requires_grad_(False)
    net = Replicated(depth)  # here
    depth.stem.requires_grad_(True)
    fit(net, rank)
""",
    "by one of two lines": """
def main(rank):
    depth = Depth()
    depth.stem.weight.requires_grad = depth.out.bias.requires_grad = False
    net = Replicated(depth)  # here
    fit(net, rank)
    depth.stem.weight.requires_grad = rank >= 0
    depth.out.bias.requires_grad = True
    fit(net, rank)
""",
}
HEALTHY = {
    "wrapped again": """
def main(rank):
    depth = Depth()
    depth.blocks.requires_grad_(False)
    fit(Replicated(depth), rank)
    depth.blocks.requires_grad_(True)
    fit(Replicated(depth), rank)
""",
    "frozen after the wrap, and thawed": """
def main(rank):
    net = Replicated(Depth(), find_unused_parameters=True)
    net.module.stem.requires_grad_(False)
    fit(net, rank)
    net.module.stem.requires_grad_(True)
    fit(net, rank)
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_what_thaws_too_late_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    found = found_in(tmp_path, program)[0]
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS796", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_what_the_wrapper_knows_may_be_thawed(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
