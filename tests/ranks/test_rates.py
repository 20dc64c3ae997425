"""Learning rates that a program sets itself, by a value of each rank's own."""

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

class Annealing:
    def __init__(self, optimizer):
        self.optimizer, self.previous = optimizer, 0.0

    def __call__(self, loss, factor=0.5):
        gain = self.previous - loss
        if gain < 0:
            for group in self.optimizer.param_groups:
                group["lr"] *= factor
        self.previous = loss

def of_all(value):
    dist.all_reduce(value)
    return value / 2

def warm(optimizer, scale, step):
    for group in optimizer.param_groups:
        group["lr"] = 0.1 * scale / (step + 1)

{program}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    torch.manual_seed(0)
    net = Replicated(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    annealing = Annealing(optimizer)
    for step in range(6):
        optimizer.zero_grad()
        net(torch.randn(5, 4, generator=torch.Generator().manual_seed(step + 10 * rank))).square().mean().backward()
        optimizer.step()
        after(rank, step, optimizer, annealing, torch.tensor(float(step if rank else -step)))
"""
FAULTY = {
    "handed to an object": """
def after(rank, step, optimizer, annealing, loss):
    value = loss.item()
    shown = of_all(loss)
    annealing(value)  # here
""",
    "handed to a function": """
def after(rank, step, optimizer, annealing, loss):
    annealing(1.0)
    warm(optimizer, loss.item() + 10, step)  # here
""",
    "under a condition of the rank": """
def after(rank, step, optimizer, annealing, loss):
    if rank == 1:  # here
        again(optimizer, step)

def again(optimizer, step):
    optimizer.param_groups[0]["lr"] = 0.01
""",
    "by a line that is not known among several": """
def after(rank, step, optimizer, annealing, loss):
    optimizer.param_groups[0]["lr"] = 0.1 + loss.item() / 100
""",
}
HEALTHY = """
def after(rank, step, optimizer, annealing, loss):
    annealing(of_all(loss).item())
    warm(optimizer, 0.1, step)
"""

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_the_line_by_which_rates_are_set_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next((at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here")), None)
    assert (found.code, None if found.site is None else found.site.line) == ("GS792", expected)


def test_rates_by_what_all_ranks_have_are_silent(tmp_path, found_in):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY)) == ()


# As in https://github.com/lucidrains/DALLE-pytorch/issues/268, where no function is given what decides.
CALL = "after(rank, step, optimizer, annealing, torch.tensor(float(step if rank else -step)))"
PLAIN = (
    PROGRAM.replace('group["lr"] *= factor', "pass")
    .replace('group["lr"] = 0.1 * scale / (step + 1)', "pass")
    .replace("{program}", "")
    .replace(CALL, "loss = torch.tensor(float(step if rank else -step))\n{program}")
)
BY_ITSELF = {
    "by the condition of a rank's own loss": """
        if loss > 0:  # here
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
""",
    "by its line, under two conditions": """
        if step % 3 == 1:
            if loss > 0:
                optimizer.param_groups[0]["lr"] *= 0.5  # here
""",
    "by its line, where the value goes by the loss": """
        if step % 2 == 1:
            optimizer.param_groups[0]["lr"] = 0.05 if loss > 0 else 0.1  # here
""",
    "by its line, where both set it": """
        if step % 2 == 1:
            optimizer.param_groups[0]["lr"] *= 1 + float(loss) / 100  # here
""",
}
BY_ALL = """
        if of_all(loss + 4) > 3:
            optimizer.param_groups[0]["lr"] *= 0.5
"""


@pytest.mark.parametrize("name", BY_ITSELF)
def test_rates_that_a_rank_sets_by_itself_are_named(tmp_path, found_in, name):
    program = PLAIN.replace("{program}", BY_ITSELF[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS792", expected)


def test_rates_by_a_condition_that_all_ranks_share_are_silent(tmp_path, found_in):
    assert found_in(tmp_path, PLAIN.replace("{program}", BY_ALL)) == ()


# As in https://github.com/karpathy/nanochat/pull/857, where each rank packs what it trains on by itself.
READ = """
class Reader:
    def __init__(self, texts, part=0):
        self.part, self.texts, self.taken = part, texts, 0

    def share(self):
        self.taken += 1 + self.part
        return self.taken / self.texts

class Decay:
    def __init__(self, texts):
        self.texts = texts

    def at(self, step):
        return step / self.texts

{program}
"""
FOLLOWS = PROGRAM.replace('group["lr"] *= factor', "pass").replace('group["lr"] = 0.1 * scale / (step + 1)', "pass")
FOLLOWED = {
    "the part of what is read, by a reader of a helper": """
def reader_of(rank):
    return Reader(100, part=rank)

def after(rank, step, optimizer, annealing, loss):
    reader = reader_of(rank)
    done = reader.share()  # here
    for group in optimizer.param_groups:
        group["lr"] = 0.1 * (1 - done)
""",
    "what a reader has read": """
def after(rank, step, optimizer, annealing, loss):
    reader = Reader(100, rank)
    reader.share()
    read = reader.taken * 0.01  # here
    optimizer.param_groups[0]["lr"] = max(0.01, 0.1 - read)
""",
    "a plan of all ranks, and the loss of one": """
def after(rank, step, optimizer, annealing, loss):
    plan = Decay(100)
    done = plan.at(step)
    optimizer.param_groups[0]["lr"] = 0.1 * (1 - done) + (8 + float(loss)) / 100  # here
""",
}
SHARED = """
def after(rank, step, optimizer, annealing, loss):
    reader = Reader(100, rank)
    done = of_all(torch.tensor(reader.share())).item()
    optimizer.param_groups[0]["lr"] = 0.1 * (1 - done)
"""


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_line_is_named_that_asks_for_what_a_rate_follows(tmp_path, found_in, name):
    program = FOLLOWS.replace("{program}", READ.replace("{program}", FOLLOWED[name]))
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS792", expected)


def test_rates_that_follow_what_all_ranks_have_read_are_silent(tmp_path, found_in):
    assert found_in(tmp_path, FOLLOWS.replace("{program}", READ.replace("{program}", SHARED))) == ()
