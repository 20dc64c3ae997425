"""Epochs in one order since a sampler of the program's own is not told its number, or something else is."""

import pytest
import torch

from tests.ranks.test_epochs import PROGRAM

SHELVES = """
class Shelves:
    def __init__(self, count, size=3):
        self.count, self.size, self.epoch = count, size, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.count // self.size // 2

    def __iter__(self):
        chance = torch.Generator().manual_seed(100 + self.epoch)
        places = torch.randperm(self.count, generator=chance)[dist.get_rank() :: 2].tolist()
        for at in range(0, len(places), self.size):
            yield places[at : at + self.size]
"""
DRAWERS = """
class Drawers:
    def __init__(self, rank):
        self.rank = rank
        self.turn = 0

    def begin(self, turn):
        \"\"\"Before each turn.\"\"\"
        self.turn = int(turn)
        self.seen = []

    def order(self):
        import random
        places = list(range(24))
        random.Random(f"{self.turn}").shuffle(places)
        return places[self.rank :: 2]

    def __iter__(self):
        return iter(self.order())

    def __len__(self):
        return 12
"""
TOLD = """
def fit(net):
    shelves = Shelves(24)
    loader = DataLoader(data, batch_sampler=shelves)
    for epoch in range(3):
        {tell}
        for (x,) in loader:
            trained(net, x)
"""
FAULTY = {
    "the sampler that a loader has by itself": SHELVES
    + """
def told(loader, epoch):
    if hasattr(loader.sampler, "set_epoch"):
        loader.sampler.set_epoch(epoch)  # here

def fit(net):
    loader = DataLoader(data, batch_sampler=Shelves(24))
    for epoch in range(3):
        told(loader, epoch)
        for (x,) in loader:
            trained(net, x)
""",
    "the batch sampler that a loader has by itself": DRAWERS.replace("begin", "set_epoch")
    + """
class Fit:
    def __init__(self, net):
        self.net = net
        self.loader = DataLoader(data, 3, sampler=Drawers(dist.get_rank()))

    def epoch(self, number):
        tells = self.loader.batch_sampler  # here
        if isinstance(tells, Drawers):
            tells.set_epoch(number)
        for (x,) in self.loader:
            trained(self.net, x)

def fit(net):
    one = Fit(net)
    for number in range(3):
        one.epoch(number)
""",
    "nothing, by a name of its own": DRAWERS
    + """
def fit(net):
    loader = DataLoader(data, batch_size=3, sampler=Drawers(dist.get_rank()))
    for turn in range(3):  # here
        for (x,) in loader:
            trained(net, x)
""",
    "the sampler beside torch's own, in a batch sampler": """
from torch.utils.data import BatchSampler

def fit(net):
    batches = BatchSampler(DistributedSampler(data), 3, drop_last=False)
    loader = DataLoader(data, batch_sampler=batches)
    for epoch in range(3):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)  # here
        for (x,) in loader:
            trained(net, x)
""",
}
HEALTHY = {
    "told by its name": SHELVES + TOLD.replace("{tell}", "shelves.set_epoch(epoch)"),
    "told by the loader": SHELVES + TOLD.replace("{tell}", "loader.batch_sampler.set_epoch(epoch)"),
    "told by its number": SHELVES + TOLD.replace("{tell}", "shelves.epoch = epoch"),
    "told by a text": SHELVES + TOLD.replace("{tell}", "getattr(loader.batch_sampler, 'set_epoch')(epoch)"),
    "set by a text": SHELVES + TOLD.replace("{tell}", "setattr(shelves, 'epoch', epoch)"),
    "told what it goes by": SHELVES
    + TOLD.replace(
        "{tell}", "[one.set_epoch(epoch) for one in (loader.sampler, shelves) if hasattr(one, 'set_epoch')]"
    ),
    "made anew": SHELVES
    + """
def fit(net):
    for epoch in range(3):
        shelves = Shelves(24)
        shelves.set_epoch(epoch)
        for (x,) in DataLoader(data, batch_sampler=shelves):
            trained(net, x)
""",
    "a class that counts": SHELVES.replace("places = ", "self.epoch += 1\n        places = ")
    + TOLD.replace("{tell}", "pass"),
    "one of torch's in a batch sampler, told": """
from torch.utils.data import BatchSampler

def fit(net):
    batches = BatchSampler(DistributedSampler(data), 3, drop_last=False)
    loader = DataLoader(data, batch_sampler=batches)
    for epoch in range(3):
        loader.batch_sampler.sampler.set_epoch(epoch)
        for (x,) in loader:
            trained(net, x)
""",
    "one that another loader goes by": SHELVES
    + """
def fit(net):
    shown = DataLoader(data, batch_sampler=Shelves(24))
    for epoch in range(3):
        for (x,) in DataLoader(data, 3, sampler=range(dist.get_rank(), 24, 2)):
            trained(net, x)
        for (x,) in shown:
            net.module(x)
""",
    "one epoch": SHELVES
    + """
def fit(net):
    for (x,) in DataLoader(data, batch_sampler=Shelves(24)):
        trained(net, x)
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_told_in_its_place_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS787", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_told_or_not_gone_by_is_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
