"""Ranks that meet with tensors of different sizes: gloo aborts one of them, and both recordings say why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gradscope.model.choice import Choice
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings

ROOT = Path(__file__).parent.parent.parent
LIMIT = 300  # seconds
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

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


@pytest.mark.parametrize("name", MEETINGS)
def test_the_sizes_are_named(tmp_path, name):
    (tmp_path / "train.py").write_text(PROGRAM.replace("{meeting}", MEETINGS[name]))
    ranks = [
        subprocess.Popen(
            [sys.executable, "train.py", str(rank)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.DEVNULL,
        )
        for rank in range(2)
    ]
    try:
        for rank in ranks:
            rank.wait(timeout=LIMIT)
    finally:
        for rank in ranks:
            rank.kill()
    first = findings(gather(sorted(tmp_path.glob("*.gscope"))), Choice())[0]
    assert (first.code, first.site.line) == ("GS790", 12)
    assert f"{name} with float32[5]" in first.message
    assert f"{name} with float32[4]" in first.message
