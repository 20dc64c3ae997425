"""A rank that sleeps while the other waits, then is killed with -9: both files are read, and its line is named."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from gradscope.errors import GradscopeError
from gradscope.model.choice import Choice
from gradscope.model.rank import State
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings

ROOT = Path(__file__).parent.parent.parent
LIMIT = 300  # seconds
PROGRAM = """
import sys, time
from datetime import timedelta
import torch
import torch.distributed as dist
rank = int(sys.argv[1])
store = dist.FileStore("store", 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=600))
net = torch.nn.Linear(2, 1)
for step in range(100):
    net(torch.ones(1, 2)).sum().backward()
    if rank == 1 and step == 2:
        time.sleep(600)
    dist.all_reduce(torch.ones(1))
"""
SLEEPS, WAITS = 13, 14

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


def ranks_of(folder):
    """Both ranks, None as long as their files cannot be read."""
    with contextlib.suppress(GradscopeError):
        found = gather(sorted(folder.glob("*.gscope")))
        return found if len(found.ranks) == 2 else None
    return None


def until(true):
    """Look again until something is so."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("it did not come to that")


@pytest.fixture(scope="module")
def hung(tmp_path_factory):
    """The folder, what was read while both still ran, and what after rank 1 was killed."""
    folder = tmp_path_factory.mktemp("hung")
    (folder / "train.py").write_text(PROGRAM)
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text((ROOT / "gradscope_autostart.pth").read_text())
    (folder / "files").mkdir()
    variables = {"PYTHONPATH": f"{ROOT}:{folder / 'site'}", "GRADSCOPE_TRACE": "files", "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "train.py", str(rank)],
            cwd=folder,
            env={**os.environ, **variables, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.DEVNULL,
        )
        for rank in range(2)
    ]

    def met():
        found = ranks_of(folder / "files")
        return found if found and found.rank(0).waits and found.rank(1).at and found.rank(1).at.line == SLEEPS else None

    try:
        running = until(met)
        ranks[1].send_signal(signal.SIGKILL)
        for rank in ranks:
            rank.wait(timeout=LIMIT)
    finally:
        for rank in ranks:
            rank.kill()
    return running, gather(sorted((folder / "files").glob("*.gscope")))


def test_a_rank_that_sleeps_is_named_while_all_still_run(hung):
    (found,) = findings(hung[0], Choice())
    assert (found.code, found.site.line) == ("GS791", SLEEPS)


def test_where_the_other_waits_is_told(hung):
    (found,) = findings(hung[0], Choice())
    assert [one.site.line for one in found.related] == [WAITS]


def test_a_killed_rank_is_named(hung):
    (found,) = findings(hung[1], Choice())
    assert (found.code, found.site.line) == ("GS791", SLEEPS)


def test_the_files_of_killed_and_of_failed_ranks_are_read(hung):
    assert [one.state for one in hung[1].ranks] == [State.LOST, State.KILLED]
