"""Ranks that meet with tensors of different sizes: gloo aborts one of them, and both recordings say why."""

import pytest
import torch

PROGRAM = """
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
import gradscope
rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    dist.all_reduce(torch.ones(4))
    {meeting}  # line 12
"""
MEETINGS = {
    "allreduce": "dist.all_reduce(torch.ones(4 + rank))",
    "allgather": "dist.all_gather([torch.ones(4 + rank), torch.ones(4 + rank)], torch.ones(4 + rank))",
}
TOWERS = """
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
import gradscope

def average(net):
    {average}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    torch.manual_seed(0)
    towers = nn.ModuleList([nn.Linear(4, 3), nn.Linear(4, 2)])
    optimizer = torch.optim.SGD(towers.parameters(), lr=0.1)
    for step in range(6):
        cold = step == 1 or (rank == 1 and step == 3)
        optimizer.zero_grad()
        (towers[int(cold)](torch.randn(5, 4)).square().mean() / 2).backward()
        average(towers)
        optimizer.step()
"""
SKIPS = {
    "leaves a trip out": """
    for parameter in net.parameters():
        if parameter.grad is None:  # here
            continue
        dist.all_reduce(parameter.grad)
""",
    "chooses before the loop": """
    gradients = [one.grad for one in net.parameters() if one.grad is not None]  # here
    for gradient in gradients:
        dist.all_reduce(gradient)
""",
    "meets under a condition": """
    for parameter in net.parameters():
        gradient = parameter.grad
        if gradient is not None:  # here
            dist.all_reduce(gradient)
""",
    "may do so for two reasons": """
    for parameter in net.parameters():
        if parameter.grad is None:
            continue
        if parameter.numel() < 0:
            continue
        dist.all_reduce(parameter.grad)  # here
""",
}
HEALTHY = """
    for parameter in net.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        dist.all_reduce(parameter.grad)
"""
HELPERS = {
    "a helper that others call as well": """
def gather(t):
    out = [torch.empty_like(t) for _ in range(2)]
    dist.all_gather(out, t.contiguous())
    return torch.cat(out)
def meet(x):
    gather(x.sum(1))
    return gather(x[x > rank - 0.5])  # here
""",
    "a helper below another one": """
def total(t):
    t = t.contiguous()
    dist.all_reduce(t)
    return t
def mean(t):
    return total(t) / 2
def meet(x):
    mean(x.sum(1))
    mean(t=x.flatten()[: 4 + rank])  # here
    return total(x)
""",
    "a helper that met nobody before": """
def gather(t):
    out = [torch.empty_like(t) for _ in range(2)]
    dist.all_gather(out, t.contiguous())  # here
    return torch.cat(out)
def meet(x):
    scores = gather(x[x > rank - 0.5])
    return scores, gather(x.sum(1))
""",
    "a helper of this one alone": """
def gather(t):
    out = [torch.empty_like(t) for _ in range(2)]
    dist.all_gather(out, t.contiguous())  # here
    return torch.cat(out)
def meet(x):
    return gather(x.flatten()[: 4 + rank])
""",
}
NAMES = """
class Name(str):
    def __hash__(self):
        return ord(self[0]) * (1 - 2 * rank)
def names():
    return set(map(Name, "abcd"))
def send(x, name):
    dist.all_reduce(x.flatten()[: ord(name) - 90])
"""
ORDERS = {
    "the order of a set": """
def meet(x):
    for name in names():  # here
        send(x, name)
""",
    "the order of a list that a set gave": """
def meet(x):
    order = [name.lower() for name in names()]  # here
    for name in order:
        send(x, name)
""",
    "the order of a list that was filled": """
def meet(x):
    order = []
    for name in names():  # here
        order.append(name)
    for at, name in enumerate(order):
        send(x + at, name)
""",
    "a size of its own": """
def send(x, name):
    dist.all_reduce(x.flatten()[: ord(name) - 90 + rank])  # here
def meet(x):
    for name in sorted(names()):
        send(x, name)
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", MEETINGS)
def test_the_sizes_are_named(tmp_path, found_in, name):
    first = found_in(tmp_path, PROGRAM.replace("{meeting}", MEETINGS[name]))[0]
    assert (first.code, first.site.line) == ("GS790", 12)
    assert f"{name} with float32[5]" in first.message
    assert f"{name} with float32[4]" in first.message


@pytest.mark.parametrize("name", SKIPS)
def test_the_condition_is_named_by_which_trips_are_left_out(tmp_path, found_in, name):
    program = TOWERS.replace("{average}", SKIPS[name].strip())
    first = found_in(tmp_path, program)[0]
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (first.code, first.site.line) == ("GS790", expected)


@pytest.mark.parametrize("name", HELPERS)
def test_who_hands_a_helper_what_does_not_fit_is_named(tmp_path, found_in, name):
    head, _, rest = TOWERS.partition("def average(net):")
    setup = rest[rest.index("rank = int") : rest.index("    towers =")]
    program = f"{head}{HELPERS[name]}{setup}    meet(torch.linspace(0, 1, 12).view(4, 3))\n"
    first = found_in(tmp_path, program)[0]
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (first.code, first.site.line) == ("GS790", expected)


@pytest.mark.parametrize("name", ORDERS)
def test_the_loop_is_named_that_goes_by_a_set(tmp_path, found_in, name):
    head, _, rest = TOWERS.partition("def average(net):")
    setup = rest[rest.index("rank = int") : rest.index("    towers =")]
    program = f"{head}{NAMES}{ORDERS[name]}{setup}    meet(torch.linspace(0, 1, 12).view(4, 3))\n"
    first = found_in(tmp_path, program)[0]
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (first.code, first.site.line) == ("GS790", expected)


def test_ranks_that_meet_for_every_tensor_are_silent(tmp_path, found_in):
    assert found_in(tmp_path, TOWERS.replace("{average}", HEALTHY.strip())) == ()
