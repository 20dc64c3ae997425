"""What hides from simple tools is in the recording: collectives inside of DTensors, the last steps of killed ranks."""

import re
import sqlite3

import pytest

from gradscope.store.reader import load
from tests.capture.side_by_side import TORCHRUN, finish, python, start
from tests.torture.compare import PROGRAMS

pytestmark = pytest.mark.timeout(600)  # torchrun's processes import torch each, on a machine that may be busy
PEER = """
import os, signal, sys, time, torch
import torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
for step in range(3):
    model(torch.ones(1, 2)).sum().backward()
open(f"rank{dist.get_rank()}.txt", "w").write("three steps")
if dist.get_rank() == 1:
    while not os.path.exists("rank0.txt"): time.sleep(0.01)  # torchrun would end the other in its last step
    os._exit(9)
time.sleep(600)
"""
NESTED = """
import torch
import gradscope
try:
    with gradscope.record("inner.gscope"): pass
except gradscope.errors.UsageError as error:
    print(error, "|", error.hint)
torch.ones(2, requires_grad=True).sum().backward()
"""


def operators(path):
    with sqlite3.connect(path) as database:
        names = database.execute("SELECT DISTINCT text FROM operation JOIN string ON string.id = operation.name")
        return {name for (name,) in names}


def test_the_collectives_inside_of_dtensors_are_seen(side_by_side, tmp_path):
    run, path = side_by_side.traced(tmp_path, PROGRAMS / "dtensor.py")
    assert run.status == 0, run.stderr
    seen = {name for name in operators(path) if name.startswith(("_c10d_functional.", "c10d."))}
    assert {"_c10d_functional.all_gather_into_tensor.default", "_c10d_functional.wait_tensor.default"} <= seen
    assert any("allgather" in name for name in seen)
    assert any("reduce_scatter" in name for name in seen)


def test_a_rank_that_torchrun_kills_keeps_what_it_did(tmp_path):
    (tmp_path / "peer.py").write_text(PEER)
    (tmp_path / "plain").mkdir()
    plain = start(tmp_path / "plain", *TORCHRUN, "../peer.py", OMP_NUM_THREADS="1")
    run = python(tmp_path, *TORCHRUN, "-m", "gradscope", "trace", "-q", "peer.py", OMP_NUM_THREADS="1")
    assert run.status == finish(plain).status == 1
    assert re.search(r"exitcode *: 9 ", run.stderr)
    recordings = sorted(tmp_path.glob("peer.r0000*-of-00002.*.gscope"))
    assert len(recordings) == 2
    for path in recordings:
        with load(str(path)) as recording:
            assert (len(recording.backwards()), recording.run().ended) == (3, False)
            (firing,) = recording.graph().firings  # the reducer's, seen by its effect
            assert (firing.hook.kind, str(firing.hook.stack[-1])) == ("reducer", str(path.parent / "peer.py:5"))


def test_a_program_that_records_itself_is_told_that_it_is_recorded_already(side_by_side, tmp_path):
    run, path = side_by_side.traced(tmp_path, "-c", NESTED)
    assert (run.stderr, run.status) == ("", 0)
    assert run.stdout.startswith(f"this process is being recorded already, into {path} | one recording at a time")
    assert not (tmp_path / "inner.gscope").exists()
    with load(str(path)) as recording:
        assert len(recording.backwards()) == 1
