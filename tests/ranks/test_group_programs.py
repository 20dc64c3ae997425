"""Programs of two ranks, run with gloo: each fault is named first, by its line, and healthy programs are silent."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gradscope.model.choice import Choice
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings

SCRIPT = Path(__file__).parent / "group_programs.py"
LIMIT = 540  # seconds

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


def programs():
    """By the name of a program: the code that must be found, and its line, None where the mark names no line."""
    found = {}
    name = None
    for number, line in enumerate(SCRIPT.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("def "):
            head = re.match(r"def (\w+)\(rank\):", line)
            name = head[1] if head else None
            if name is not None:
                found[name] = None
        mark = re.search(r"# expect: (GS\d{3})", line)
        if mark and name is not None:
            found[name] = mark[1], None if line.startswith("def ") else number
    return found


PROGRAMS = programs()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for each program, with the recordings of both ranks in it."""
    folder = tmp_path_factory.mktemp("groups")
    command = [sys.executable, str(SCRIPT), str(folder)]
    ranks = [
        subprocess.Popen(
            [*command, str(rank)], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL
        )
        for rank in range(2)
    ]
    try:
        assert [rank.wait(timeout=LIMIT) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()
    return folder


def found_in(folder, name):
    return findings(gather(sorted((folder / name).glob("*.gscope"))), Choice())


@pytest.mark.parametrize("name", [name for name, expected in PROGRAMS.items() if expected])
def test_a_fault_is_named_first(folder, name):
    first = found_in(folder, name)[0]
    code, line = PROGRAMS[name]
    assert first.code == code
    assert (None if first.site is None else first.site.line) == line


@pytest.mark.parametrize("name", [name for name, expected in PROGRAMS.items() if not expected])
def test_a_healthy_program_is_silent(folder, name):
    assert found_in(folder, name) == ()


def test_every_rank_is_in_the_table(folder):
    ranks = gather(sorted((folder / "healthy_ddp").glob("*.gscope")))
    assert [one.rank for one in ranks.ranks] == [0, 1]
