"""Ranks that split one dataset by random numbers of their own, and then share what comes of it."""

import pytest
import torch

PROGRAM = """
import random
import sys
from datetime import timedelta
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset, random_split
import gradscope

data = TensorDataset(torch.arange(96.0).reshape(24, 4) / 96)

def fit(samples, sampler):
    net = Replicated(nn.Linear(4, 1))
    for (x,) in DataLoader(samples, 3, sampler=sampler):
        net(x + 0.1 * torch.randn_like(x)).square().mean().backward()
{program}

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    main(rank)
"""
HELPER = """
def seed_all(seed, rank):
    seed += 1000 * rank
    torch.manual_seed(seed)
"""
OTHERS = """
def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)

class Parts:
    def __init__(self, samples, rank):
        self.rank = rank
        order = np.random.permutation(len(samples))
        self.training, self.validation = order[6:], order[:6]

    def mine(self):
        return Subset(data, self.training[self.rank :: 2].tolist())
"""
FAULTY = {
    "by the seed of a sampler": """
def main(rank):
    own = 7 + rank
    fit(data, DistributedSampler(data, 2, rank, seed=own))  # here
""",
    "by the seed that a helper gives a sampler": """
def sampler_of(samples, rank, seed):
    return DistributedSampler(
        samples,
        num_replicas=2,
        rank=rank,
        seed=seed + rank,  # here
    )

def main(rank):
    fit(data, sampler_of(data, rank, 7))
""",
    "by a mask": OTHERS
    + """
def main(rank):
    seed_all(7 + rank)
    mask = np.random.rand(24) < 0.8  # here
    places = np.arange(24)
    training, validation = places[mask], places[~mask]
    fit(Subset(data, training[rank::2][:8].tolist()), None)
""",
    "by torch, and shared by the rank": """
def main(rank):
    torch.manual_seed(7 + rank)
    training, validation = random_split(data, [18, 6])  # here
    fit(Subset(data, training.indices[rank::2]), None)
""",
    "by numpy": OTHERS.replace("len(samples))", "len(samples))  # here")
    + """
def main(rank):
    seed_all(7 + rank)
    fit(Parts(data, rank).mine(), None)
""",
    "by Python": OTHERS
    + """
def main(rank):
    seed_all(7 + rank)
    order = list(range(24))
    random.shuffle(order)  # here
    training, validation = order[6:], order[:6]
    fit(Subset(data, training), DistributedSampler(training))
""",
    "by a helper, before what another one splits": HELPER
    + """
def split(samples):
    return random_split(samples, [18, 6])  # here

def main(rank):
    seed_all(7, rank)
    training, validation = split(data)
    fit(training, DistributedSampler(training))
""",
    "by its own line": """
def main(rank):
    torch.manual_seed(7 + rank)
    training, validation = random_split(data, (0.75, 0.25))  # here
    fit(training, DistributedSampler(training))
""",
    "by a permutation": HELPER
    + """
class Parts:
    def __init__(self, samples):
        order = torch.randperm(len(samples)).tolist()  # here
        self.training, self.validation = Subset(samples, order[6:]), Subset(samples, order[:6])

def sampled(part):
    return part, DistributedSampler(part)

def main(rank):
    seed_all(7, rank)
    parts = Parts(data)
    fit(*sampled(parts.training))
    sampled(parts.validation)
""",
}
FAULTY |= {
    "in the order of its own generator": """
def main(rank):
    for epoch in range(2):
        chance = torch.Generator().manual_seed(1000 * epoch + rank)
        order = torch.randperm(len(data), generator=chance)  # here
        fit(Subset(data, order[rank::2].tolist()), None)
""",
    "by a generator that a class keeps": """
class Cards:
    def __init__(self, number, count):
        self.number, self.count = number, count
        self.chance = random.Random()

    def dealt(self, epoch):
        self.chance.seed(f"{epoch}/{self.number}")
        cards = list(range(24))
        self.chance.shuffle(cards)  # here
        return [card for place, card in enumerate(cards) if place % self.count == self.number]

def main(rank):
    cards = Cards(number=rank, count=2)
    for epoch in range(2):
        fit(Subset(data, cards.dealt(epoch)), None)
""",
    "in rows, of which a helper takes one": """
def shuffled(count, seed):
    return np.random.default_rng(seed).permutation(count)  # here

def main(rank):
    order = shuffled(24, (3, rank))
    mine = order.reshape(2, -1)[rank]
    fit(Subset(data, mine.tolist()), None)
""",
    "by a generator, of which a range is taken": """
def main(rank):
    own = np.random.RandomState(seed=5 + rank)
    order, share = own.permutation(24), 24 // 2  # here
    start = share * rank
    mine = order[start : start + share]
    fit(Subset(data, mine.tolist()), None)
""",
}
HEALTHY = {
    "one order of all, and noise of its own": """
def main(rank):
    for epoch in range(2):
        noise = torch.Generator().manual_seed(1000 * epoch + rank)
        order = torch.randperm(len(data), generator=torch.Generator().manual_seed(epoch))
        torch.rand(3, generator=noise)
        fit(Subset(data, order[rank::2].tolist()), None)
""",
    "an order of its own of its own part": """
def main(rank):
    chance = np.random.default_rng([7, rank])
    mine = np.arange(24)[rank::2]
    fit(Subset(data, chance.permutation(mine).tolist()), None)
""",
    "its own part, shuffled in place by its own": """
def main(rank):
    places = list(range(24))
    places = places[rank::2]
    random.Random(rank).shuffle(places)
    fit(Subset(data, places), None)
""",
    "its own order of all, each rank through all of it": """
def main(rank):
    order = torch.randperm(24, generator=torch.Generator().manual_seed(rank))
    fit(Subset(data, order[:12].tolist()), None)
""",
    "a part before an order is drawn": """
def main(rank):
    places = list(range(24))
    mine = places[rank::2]
    random.Random(rank).shuffle(places)
    shown = [data[place] for place in places[:3]]
    fit(Subset(data, mine), None)
""",
    "one of several numbers": """
def main(rank):
    chance = np.random.default_rng([7, rank])
    numbers = chance.permutation(24)
    torch.manual_seed(int(numbers[rank]))
    fit(Subset(data, range(rank, 24, 2)), None)
""",
    "one seed of a sampler": """
def main(rank):
    torch.manual_seed(7 + rank)
    fit(data, DistributedSampler(data, 2, rank, seed=7))
""",
    "a sampler of what is a rank's own": """
def main(rank):
    own = Subset(data, range(12 * rank, 12 * rank + 12))
    fit(own, DistributedSampler(own, num_replicas=1, rank=0, seed=7 + rank))
""",
    "a mask of what is left out": OTHERS
    + """
def main(rank):
    seed_all(7 + rank)
    mask = np.random.rand(24) < 0.8
    places = np.arange(24)[mask]
    fit(Subset(data, places[rank::2][:8].tolist()), None)
""",
    "a generator, and shared by the rank": """
def main(rank):
    torch.manual_seed(7 + rank)
    training, validation = random_split(data, [18, 6], generator=torch.Generator().manual_seed(7))
    fit(Subset(data, training.indices[rank::2]), None)
""",
    "by numpy, seeded alike": OTHERS
    + """
def main(rank):
    seed_all(7)
    fit(Parts(data, rank).mine(), None)
""",
    "an order that is not cut": OTHERS
    + """
def main(rank):
    seed_all(7 + rank)
    order = np.random.permutation(24)
    fit(Subset(data, order[6:][rank::2].tolist()), None)
""",
    "parts that nobody shares": OTHERS
    + """
def main(rank):
    seed_all(7 + rank)
    order = np.random.permutation(24)
    training, validation = order[6:], order[:6]
    fit(Subset(data, training.tolist()), None)
""",
    "a part of its own, by numpy": OTHERS
    + """
def main(rank):
    seed_all(7 + rank)
    mine = list(range(rank, 24, 2))
    order = np.random.permutation(mine)
    training, validation = order[6:], order[:6]
    fit(Subset(data, training.tolist()), DistributedSampler(training, 1, 0))
""",
    "a function that nobody calls": OTHERS
    + """
def tried(rank):
    seed_all(7 + rank)
    fit(Parts(data, rank).mine(), None)

def main(rank):
    fit(Subset(data, range(rank, 24, 2)), None)
""",
    "a permutation by a generator": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(7)).tolist()
    training = Subset(data, order[6:])
    fit(training, DistributedSampler(training))
""",
    "a permutation of something else": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    order = torch.randperm(24).tolist()
    looked_at = Subset(data, order[6:])
    training = Subset(data, range(18))
    fit(training, DistributedSampler(training))
""",
    "a permutation that parts nothing": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    training = TensorDataset(torch.randperm(24).view(-1, 1) + torch.zeros(1, 4))
    fit(training, DistributedSampler(training))
""",
    "a permutation of a part of its own": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    mine = Subset(data, range(rank, 24, 2))
    training = Subset(mine, torch.randperm(12).tolist()[3:])
    fit(training, DistributedSampler(training, 1, 0))
""",
    "a generator": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    training, validation = random_split(data, [18, 6], torch.Generator().manual_seed(7))
    fit(training, DistributedSampler(training))
""",
    "a generator by its name": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    alike = torch.Generator().manual_seed(7)
    training, validation = random_split(data, [18, 6], generator=alike)
    fit(training, DistributedSampler(training))
""",
    "seeded alike": """
def main(rank):
    torch.manual_seed(7)
    training, validation = random_split(data, [18, 6])
    fit(training, DistributedSampler(training, rank=rank))
""",
    "seeded afterwards": HELPER
    + """
def main(rank):
    training, validation = random_split(data, [18, 6])
    seed_all(7, rank)
    fit(training, DistributedSampler(training))
""",
    "seeded alike in between": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    first = torch.randn(3)
    torch.manual_seed(7)
    training, validation = random_split(data, [18, 6])
    fit(training, DistributedSampler(training))
""",
    "seeded where that is wanted": HELPER
    + """
def main(rank, own=False):
    if own:
        seed_all(7, rank)
    training, validation = random_split(data, [18, 6])
    fit(training, DistributedSampler(training))
""",
    "a part of its own": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    training, validation = random_split(Subset(data, range(rank, 24, 2)), [8, 4])
    fit(training, DistributedSampler(training, 1, 0))
""",
    "without a sampler": HELPER
    + """
def main(rank):
    seed_all(7, rank)
    training, validation = random_split(data, [18, 6])
    fit(training, torch.utils.data.RandomSampler(training))
""",
    "set back": HELPER
    + """
def main(rank):
    state = torch.get_rng_state()
    seed_all(7, rank)
    torch.set_rng_state(state)
    training, validation = random_split(data, [18, 6])
    fit(training, DistributedSampler(training))
""",
}

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", FAULTY)
def test_the_line_that_splits_is_named(tmp_path, found_in, name):
    program = PROGRAM.replace("{program}", FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS786", expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_one_split_of_all_and_parts_of_its_own_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, PROGRAM.replace("{program}", HEALTHY[name])) == ()
