"""Ranks that see the same data from some step on: which line gives what draws for them another state."""

import pytest
import torch

from gradscope.model.finding import Severity

PROGRAM = """
import sys
from datetime import timedelta
import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
import gradscope

def learn(net, optimizer, draw, steps):
    for _ in range(steps):
        heights = draw()
        optimizer.zero_grad()
        net(heights).square().mean().backward()
        optimizer.step()

def of_the_first(state):
    states = [state]
    dist.broadcast_object_list(states)
    return states[0]

def main(rank):
    torch.manual_seed(3)
    net = Replicated(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
{program}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    main(rank)
"""
GENERATOR = """
    chance = torch.Generator().manual_seed(20 + rank)
    def draw():
        return torch.randn(5, 4, generator=chance)
    learn(net, optimizer, draw, 4)
"""
NUMPY = """
    chance = numpy.random.RandomState(20 + rank)
    def draw():
        return torch.from_numpy(chance.rand(5, 4)).float()
    learn(net, optimizer, draw, 4)
"""
AGAIN = "    learn(net, optimizer, draw, 9)"
FAULTY = {
    "a generator's state": f"""{GENERATOR}
    chance.set_state(of_the_first(chance.get_state()))  # here
{AGAIN}
""",
    "the state of another library": f"""{NUMPY}
    chance.set_state(of_the_first(chance.get_state()))  # here
{AGAIN}
""",
    "a generator that is seeded again": GENERATOR.replace("=chance)", "=chance)  # here")
    + f"""
    chance.manual_seed(8)
{AGAIN}
""",
}
HEALTHY = {
    "a generator's own state": f"""{GENERATOR}
    chance.set_state(chance.get_state())
{AGAIN}
""",
    "samples that all are given": f"""{GENERATOR}
    known = torch.linspace(0, 1, 20).reshape(5, 4)
    draw = lambda: known
{AGAIN}
""",
    "too few to tell": f"""{GENERATOR}
    chance.set_state(of_the_first(chance.get_state()))
{AGAIN.replace("9", "5")}
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_what_gives_all_ranks_one_state_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS794", expected)


def test_what_another_library_draws_may_be_the_same_on_purpose(tmp_path, found_in):
    program = PROGRAM.replace("{program}", FAULTY["the state of another library"])
    assert [one.severity for one in found_in(tmp_path, program)] == [Severity.INFO]


@pytest.mark.parametrize("name", HEALTHY)
def test_states_of_its_own_and_what_all_are_given_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
