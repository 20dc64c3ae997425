"""Programs of two and of four ranks, run with gloo: each fault is named first, by its line; healthy ones are silent."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
import torch

from gradscope.anomaly import explain
from gradscope.commands.ranks import explained, failed, report_of
from gradscope.model.choice import Choice
from gradscope.model.finding import Severity
from gradscope.ranks.gather import gather
from gradscope.store.reader import load
from tests.ranks.marks import programs

SCRIPTS = {
    "divided_programs.py": 2,
    "divided_copy_programs.py": 2,
    "added_programs.py": 2,
    "addend_programs.py": 2,
    "between_programs.py": 2,
    "early_programs.py": 2,
    "group_programs.py": 2,
    "guarded_programs.py": 2,
    "joined_programs.py": 2,
    "decision_programs.py": 2,
    "handed_programs.py": 2,
    "choice_programs.py": 2,
    "alone_programs.py": 2,
    "alone_norm_programs.py": 2,
    "apart_programs.py": 2,
    "tied_programs.py": 2,
    "tied_stage_programs.py": 2,
    "spike_programs.py": 2,
    "stage_programs.py": 2,
    "checked_programs.py": 2,
    "codebook_programs.py": 2,
    "common_input_programs.py": 2,
    "chosen_programs.py": 2,
    "contrast_programs.py": 2,
    "count_programs.py": 2,
    "crossed_programs.py": 2,
    "cut_norm_programs.py": 2,
    "loader_programs.py": 2,
    "late_programs.py": 2,
    "late_rate_programs.py": 2,
    "lost_programs.py": 2,
    "order_programs.py": 2,
    "measured_programs.py": 2,
    "owned_programs.py": 2,
    "own_head_programs.py": 2,
    "parallel_programs.py": 2,
    "room_programs.py": 2,
    "slot_programs.py": 2,
    "partial_programs.py": 2,
    "passing_programs.py": 2,
    "bare_programs.py": 2,
    "by_hand_programs.py": 2,
    "plain_programs.py": 2,
    "selected_programs.py": 2,
    "skipped_programs.py": 2,
    "term_programs.py": 2,
    "sharded_programs.py": 2,
    "queue_programs.py": 2,
    "received_programs.py": 2,
    "resumed_programs.py": 2,
    "replica_programs.py": 2,
    "origin_programs.py": 2,
    "scaled_programs.py": 2,
    "scattered_programs.py": 2,
    "score_programs.py": 2,
    "numbered_programs.py": 2,
    "stray_programs.py": 2,
    "stream_programs.py": 2,
    "weight_programs.py": 2,
    "healthy_programs.py": 2,
    "hook_programs.py": 2,
    "masked_programs.py": 2,
    "merged_programs.py": 2,
    "moment_programs.py": 2,
    "mesh_programs.py": 2,
    "norm_programs.py": 2,
    "kept_programs.py": 2,
    "kept_equal_programs.py": 2,
    "kept_back_programs.py": 2,
    "round_programs.py": 2,
    "running_programs.py": 2,
    "thrown_programs.py": 2,
    "total_programs.py": 2,
    "trip_programs.py": 2,
    "yielded_programs.py": 2,
    "undivided_programs.py": 2,
    "uneven_programs.py": 2,
    "wrapper_programs.py": 2,
    "padded_programs.py": 2,
    "parted_count_programs.py": 2,
    "hooked_programs.py": 2,
    "phase_programs.py": 2,
    "packed_programs.py": 2,
    "four_rank_programs.py": 4,
}
HERE = Path(__file__).parent
LIMIT = 540  # seconds

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")


PROGRAMS = {(script, name): mark for script in SCRIPTS for name, mark in programs(HERE / script).items()}


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory, two_ranks):
    """Of a script, which runs when it is first asked for: a folder with one for each program, with all recordings."""

    def folder(script):
        place, world = tmp_path_factory.mktemp("groups"), SCRIPTS[script]
        if world == 2:
            assert [run.status for run in two_ranks.run(place, HERE / script, place)] == [0, 0]
            return place
        return recorded(place, script, world)

    return cache(folder)


def recorded(folder, script, world):
    command = [sys.executable, str(HERE / script), str(folder)]
    ranks = [
        subprocess.Popen(
            [*command, str(rank)], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL
        )
        for rank in range(world)
    ]
    try:
        assert [rank.wait(timeout=LIMIT) for rank in ranks] == [0] * world
    finally:
        for rank in ranks:
            rank.kill()
    return folder


def found_in(folder, name):
    ranks = gather(sorted((folder / name).glob("*.gscope")))
    ranks.explained, ranks.failed = explained, failed
    return report_of(ranks, Choice()).findings


@pytest.mark.parametrize(("script", "name"), [program for program, expected in PROGRAMS.items() if expected])
def test_a_fault_is_named_first(folder_of, script, name):
    first = found_in(folder_of(script), name)[0]
    code, line = PROGRAMS[script, name]
    assert first.code == code
    assert (None if first.site is None else first.site.line) == line


@pytest.mark.parametrize(("script", "name"), [program for program, expected in PROGRAMS.items() if not expected])
def test_a_healthy_program_is_silent(folder_of, script, name):
    assert found_in(folder_of(script), name) == ()


@pytest.mark.parametrize(("script", "name"), [program for program, expected in PROGRAMS.items() if not expected])
def test_no_rank_of_a_healthy_program_is_accused_by_itself(folder_of, script, name):
    for path in sorted((folder_of(script) / name).glob("*.gscope")):
        with load(path) as recording:
            found = explain(recording).findings
        assert [one.message for one in found if one.severity is not Severity.INFO] == []


def test_a_branch_is_named_by_the_texts_of_the_other_rank(folder_of, tmp_path):
    """A process that is aborted writes no texts of its program."""
    name = "saved_after_an_epoch"
    shutil.copytree(folder_of("decision_programs.py") / name, tmp_path / name)
    with closing(sqlite3.connect(next((tmp_path / name).glob("*.r00000-*.gscope")))) as file, file:
        file.execute("DELETE FROM source")
    first = found_in(tmp_path, name)[0]
    assert first.site is not None
    assert (first.code, first.site.line) == PROGRAMS["decision_programs.py", name]


def test_every_rank_is_in_the_table(folder_of):
    ranks = gather(sorted((folder_of("healthy_programs.py") / "healthy_ddp").glob("*.gscope")))
    assert [one.rank for one in ranks.ranks] == [0, 1]
