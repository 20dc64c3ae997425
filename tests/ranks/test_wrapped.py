"""Shares of a list that begin again at its first elements, in evaluations that are summed over the ranks."""

import pytest
import torch

PROGRAM = """
import math
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
import gradscope

def clips(number):
    found = []
    for place in range(number):
        drawn = torch.Generator().manual_seed(place)
        found.append(torch.randn(3 + place, 4, generator=drawn))
    return found

def share(items, rank, world):
    each = math.ceil(len(items) / world)
    return [items[(rank + place * world) % len(items)] for place in range(each)]  # here

class Scores:
    def __init__(self, net, items, rank):
        self.net, self.share = net, share(items, rank, 2)

    def score(self):
        total = torch.zeros(2)
        with torch.no_grad():
            for clip in self.share:
                total += torch.stack([self.net(clip).sum(), torch.tensor(float(len(clip)))])
        dist.all_reduce(total)
        return total[0] / total[1]

def fit(net, items):
    for clip in items:
        loss = net(clip).square().mean()
        loss.backward()
        shown = loss.detach().clone()
        dist.all_reduce(shown)

def main(rank):
    net, known = Replicated(nn.Linear(4, 1)), [one.exp() for one in clips(6)]
{program}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    main(rank)
"""
FAULTY = {
    "a list that is filled": """
    scores = Scores(net.module, clips(7), rank)
    fit(net, known[rank::2])
    scores.score()
""",
    "one of two": """
    number = 9
    first, scored = clips(4), [one + 1 for one in clips(number)]
    fit(net, known[rank::2])
    Scores(net.module, scored, rank).score()
""",
}
HEALTHY = {
    "a number that divides": """
    fit(net, known[rank::2])
    Scores(net.module, clips(8), rank).score()
""",
    "two on a line": """
    fit(net, known[rank::2])
    first, scored = Scores(net.module, clips(7), rank), Scores(net.module, clips(8), rank)
    scored.score()
""",
    "a number that is not known": """
    fit(net, known[rank::2])
    Scores(net.module, [one for one in clips(9) if len(one) > 3], rank).score()
""",
    "for training": """
    fit(net, share(clips(7), rank, 2))
    Scores.score
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_the_share_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS769", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_shares_that_divide_and_those_of_a_training_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
