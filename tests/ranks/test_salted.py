"""Datasets that number their samples by hash() of text, which gives other numbers in each process."""

import pytest
import torch

from tests.ranks.two_ranks import found_afresh

PROGRAM = """
import sys
import zlib
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, Dataset, DistributedSampler
import gradscope

BUCKETS = 31

def shops():
    table = {}
    for number in range(12):
        table[f"shop {number}"] = float(number)
    return table
{program}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.out = nn.Embedding(64, 4), nn.Linear(4, 1)

    def forward(self, bucket):
        return self.out(self.rows(bucket))

rank = int(sys.argv[1])
with gradscope.record(f"run.r{rank:05d}-of-00002.1.gscope"):
    store = dist.FileStore("store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    net, samples = Replicated(Net()), Samples(shops())
    for bucket, value in DataLoader(samples, 3, sampler=DistributedSampler(samples, seed=1)):
        (net(bucket) - value).square().mean().backward()
"""
SAMPLES = """
class Samples(Dataset):
    def __init__(self, table):
        self.samples = []
        for {target} in {through}:
            {number}
            self.samples.append((bucket, value))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, place):
        return self.samples[place]
"""
FAULTY = {
    "keys of a table": ("name, value", "table.items()", "bucket = hash(name) % BUCKETS  # here"),
    "a text that is made": ("value", "range(12)", 'bucket = hash(f"shop {value}") % 31  # here'),
}
HEALTHY = {
    "numbers": ("value", "range(12)", "bucket = hash(value) % BUCKETS"),
    "values of a table": ("name, value", "table.items()", "bucket = hash(value) % BUCKETS"),
    "a checksum": ("name, value", "table.items()", "bucket = zlib.crc32(name.encode()) % BUCKETS"),
    "what is not known": ("name, value", "vars(zlib).items()", "value = 1; bucket = hash(name[:4]) % BUCKETS"),
    "the name of a file": ("name, value", "table.items()", 'bucket = 1; file = f"{hash(name) % BUCKETS}.pt"'),
    "a later name of a file": (
        "name, value",
        "table.items()",
        'bucket = 1; part = hash(name) % BUCKETS; file = "{}.pt".format(part)',
    ),
    "a seed": ("name, value", "table.items()", "bucket = 1; torch.manual_seed(hash(name) % BUCKETS)"),
    "a seed that is large": ("name, value", "table.items()", "bucket = 1; seed = hash(name) % 2**32"),
}
OWN = "def hash(text):\n    return len(text)\n"
UNUSED = "class Buckets(Dataset):\n    def of(self):\n        return hash('shop') % BUCKETS\n"
HELPER = """
def bucket_of(*texts, buckets):
    key = " of ".join(texts)
    return hash(key) % buckets{mark}
"""
ASKS = {
    "a helper": ("bucket = bucket_of(name, 'town', buckets=BUCKETS)", "hash(key)", True),
    "a file of a helper's": ("bucket = 1; file = f'{bucket_of(name, buckets=BUCKETS)}.pt'", "hash(key)", False),
    "a seed of a helper's": ("bucket = 1; torch.manual_seed(bucket_of(name, buckets=BUCKETS))", "hash(key)", False),
    "a helper that nobody asks": ("bucket = 1", "hash(key)", False),
    "a helper's method": ("bucket = 1; len(name.bucket_of) if name == 1 else 1", "hash(key)", False),
    "what a helper does not give": ("bucket = bucket_of(name, buckets=9)", "len(key); part = hash(key)", False),
    "a helper's length": ("bucket = bucket_of(name, buckets=BUCKETS)", "hash(len(key))", False),
}
HASHER = """
class Buckets:
    def __init__(self, buckets):
        self.buckets = buckets

    def parts(self, text):
        for word in text.split():
            word = f"<{word}>"
            yield {part}

    def {called}(self, text):
        return [hash(one) % self.buckets for one in self.parts(text)][0]{mark}

buckets = Buckets(BUCKETS)

"""
OBJECTS = {
    "what is called": ("__call__", "word[1:-1]", "bucket = buckets(name)", True),
    "a method": ("of", "word[1:-1]", "bucket = buckets.of(name)", True),
    "an attribute": ("of", "word", "self.kept = buckets; bucket = self.kept.of(name)", True),
    "lengths": ("of", "len(word)", "bucket = buckets.of(name)", False),
    "another object": ("of", "word", "buckets = Net; buckets.of = len; bucket = buckets.of(name)", False),
}
CHAIN = """
class Buckets:
    def bucket(self, text):
        return hash(text) % BUCKETS  # here

    def __call__(self, text):
        words = text.split()
        rows = [0] * BUCKETS
        pairs = [f"<{one}>" for one in words]
        {rows}
        return {given}

buckets = Buckets()

"""
OF_ALL = "rows = [self.bucket(one) for one in words + pairs]"
ASKED = "bucket = buckets(name)"
CHAINS = {
    "a list": (OF_ALL, "rows[0]", ASKED, True),
    "a list that grows": ("rows = []; [rows.append(self.bucket(one)) for one in words]", "rows[0]", ASKED, True),
    "a place": ("for one in pairs: rows[self.bucket(one)] += 1", "rows[0]", ASKED, True),
    "what is not given": (OF_ALL, "len(words)", ASKED, False),
    "what is not asked": (OF_ALL, "rows[0]", "bucket = int(value)", False),
    "a file": (OF_ALL + "; file = f'{rows}.pt'", "rows[0]", ASKED, False),
    "lengths beside": ("rows = [self.bucket(one) for one in words + [len(text)]]", "rows[0]", ASKED, False),
    "another's own": ("rows = [0]", "rows[0]", "self.bucket = len; bucket = self.bucket(name)", False),
}
PLAIN = ("value", "range(12)", "bucket = value")

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


def program_of(target, through, number, before=""):
    samples = SAMPLES.replace("{target}", target).replace("{through}", through).replace("{number}", number)
    return PROGRAM.replace("{program}", before + samples)


@pytest.mark.parametrize("name", FAULTY)
def test_the_line_that_takes_a_salted_hash_is_named(tmp_path, found_in, name):
    program = program_of(*FAULTY[name])
    (found,) = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert (found.code, found.site.line) == ("GS782", expected)


@pytest.mark.parametrize("name", ASKS)
def test_a_helper_that_a_dataset_asks_is_looked_into(tmp_path, found_in, name):
    number, of, is_told = ASKS[name]
    before = HELPER.replace("{mark}", "  # here").replace("hash(key)", of)
    program = program_of("name, value", "table.items()", number, before)
    found = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert [(one.code, one.site.line) for one in found] == ([("GS782", expected)] if is_told else [])


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_a_dataset_asks_is_looked_into(tmp_path, found_in, name):
    called, part, number, is_told = OBJECTS[name]
    before = HASHER.replace("{part}", part).replace("{called}", called).replace("{mark}", "  # here")
    program = program_of("name, value", "table.items()", number, before)
    program = program.replace("self, table)", "self, table, buckets)").replace("shops())", "shops(), buckets)")
    found = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert [(one.code, one.site.line) for one in found] == ([("GS782", expected)] if is_told else [])


@pytest.mark.parametrize("name", CHAINS)
def test_what_a_helper_asks_of_another_is_looked_into(tmp_path, found_in, name):
    rows, given, number, is_told = CHAINS[name]
    before = CHAIN.replace("{rows}", rows).replace("{given}", given)
    program = program_of("name, value", "table.items()", number, before)
    program = program.replace("self, table)", "self, table, buckets)").replace("shops())", "shops(), buckets)")
    found = found_in(tmp_path, program)
    expected = next(at for at, line in enumerate(program.splitlines(), 1) if line.endswith("# here"))
    assert [(one.code, one.site.line) for one in found] == ([("GS782", expected)] if is_told else [])


def test_a_helper_that_is_defined_anew_is_silent(tmp_path, found_in):
    anew = HELPER.replace("hash(key) % buckets{mark}", "len(key)")
    number = ASKS["a helper"][0]
    assert found_in(tmp_path, program_of("name, value", "table.items()", number, HELPER.format(mark="") + anew)) == ()


@pytest.mark.parametrize("name", HEALTHY)
def test_what_all_ranks_have_alike_and_names_and_seeds_are_silent(tmp_path, found_in, name):
    assert found_in(tmp_path, program_of(*HEALTHY[name])) == ()


@pytest.mark.parametrize("seed", ["0", "random"])
def test_a_salt_that_is_set_is_one_of_all(tmp_path, found_in, seed):
    program = program_of(*FAULTY["keys of a table"])
    if seed == "random":  # what Python does without it: so it may be said afterwards
        found = found_in(tmp_path, f'import os\nos.environ["PYTHONHASHSEED"] = "random"\n{program}')
    else:
        found = found_afresh(tmp_path, program, PYTHONHASHSEED=seed)
    assert [one.code for one in found] == (["GS782"] if seed == "random" else [])


@pytest.mark.parametrize("before", [OWN, 'START = "fork"\n'], ids=["a hash of its own", "a fork"])
def test_a_hash_without_a_salt_of_its_own_is_silent(tmp_path, found_in, before):
    assert found_in(tmp_path, program_of(*FAULTY["keys of a table"], before)) == ()


def test_a_dataset_that_nobody_makes_is_silent(tmp_path, found_in):
    assert found_in(tmp_path, program_of(*PLAIN, UNUSED)) == ()
