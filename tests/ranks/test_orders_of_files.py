"""Orders that each rank draws by its own generator outside of all functions, in the file itself."""

import pytest
import torch

PROGRAM = """
import sys
from datetime import timedelta
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
import gradscope

rank = int(sys.argv[1])
recording = gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope")
recording.__enter__()
store = dist.FileStore("store", 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=60))
data = torch.arange(96.0).reshape(24, 4) / 96
net = Replicated(nn.Linear(4, 1))
noise = np.random.default_rng([7, rank])
{program}
    for x in data[torch.as_tensor(mine)].split(3):
        x = x + torch.as_tensor(noise.normal(size=x.shape)).float()
        net(x).square().mean().backward()
dist.destroy_process_group()
recording.__exit__(None, None, None)
"""
FAULTY = {
    "by the numbers of its noise": """
for epoch in range(2):
    order = noise.permutation(24)  # here
    mine = order[rank::2].copy()
""",
    "in the order of the file at first": """
order = list(range(24))
chance = torch.Generator()
chance.manual_seed(100 + rank)
for epoch in range(2):
    if epoch > 0:
        order = torch.randperm(24, generator=chance).tolist()  # here
    mine = order[12 * rank : 12 * rank + 12]
""",
}
HEALTHY = {
    "an order of each epoch": """
for epoch in range(2):
    order = np.random.default_rng([7, epoch]).permutation(24)
    mine = order[rank::2].copy()
""",
    "an order of what is its own": """
own = np.arange(24)[rank::2]
for epoch in range(2):
    order = noise.permutation(len(own))
    mine = own[order]
""",
    "an order of its own, of which all take the beginning": """
for epoch in range(2):
    order = noise.permutation(24)
    mine = order[:12].copy()
""",
    "an order of all and one of its own": """
shared = np.random.default_rng(7)
for epoch in range(2):
    order = shared.permutation(24)
    tried = noise.permutation(24)[:2]
    mine = order[rank::2].copy()
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_the_line_that_draws_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS786", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_orders_of_all_and_of_its_own_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
