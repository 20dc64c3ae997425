"""Communication hooks that sum and do not divide, and the same programs where something else may."""

import pytest
import torch

PROGRAM = """
import sys
from datetime import timedelta
from functools import partial
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
import gradscope

def part(done, at=0):
    return done.value()[at]

class Sums:
    def __init__(self, ranks, when_done):
        self.ranks, self.when_done, self.sent = ranks, when_done, 0

    def hook(self, state, bucket):
        self.sent += bucket.buffer().numel() * 4 * self.ranks
        work = dist.all_reduce(bucket.buffer(), async_op=True)  # here
        return work.get_future().then(part)

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    torch.manual_seed(0)
    count = dist.get_world_size()
    net = Replicated(nn.Linear(4, 1))
    sums = Sums(count, partial(part, at=0))
    net.register_comm_hook(None, sums.hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        x = torch.randn(5, 4, generator=torch.Generator().manual_seed(step + 10 * rank))
        net(x).square().mean().backward()
        optimizer.step()
"""
HERE = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# here" in line)
EDITS = {
    "a rate that is divided": ("lr=0.1)", "lr=0.1 / count)"),
    "what is called is made elsewhere": (".then(part)", ".then(self.when_done)"),
    "a sum in steps": ("        optimizer.step()", "        if step % 2:\n            optimizer.step()"),
    "divided when it is done": ("return done.value()[at]", "return done.value()[at].div(2)"),
    "another sum as well": ("work = dist", "dist.all_reduce(torch.zeros(1))\n        work = dist"),
    "the same data": ("+ 10 * rank", "+ 10"),
    "a sum of losses": ("square().mean()", "square().sum()"),
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


def test_a_sum_that_nothing_divides_is_told(found_in, tmp_path):
    found = [(one.code, one.site.line) for one in found_in(tmp_path, PROGRAM)]
    assert found == [("GS765", HERE)]


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_what_may_be_divided_is_not_told(found_in, tmp_path, edit):
    assert edit[0] in PROGRAM
    found = [one.code for one in found_in(tmp_path, PROGRAM.replace(*edit))]
    assert "GS765" not in found
