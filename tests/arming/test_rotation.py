"""`--rotate N` begins a new file each N steps, and keeps the last ones: each is a recording like any other."""

import gc
import os
import shutil

import pytest
import torch

from gradscope.arming.rotation import Rotation
from gradscope.capture import Recorder
from gradscope.errors import UsageError
from gradscope.store.reader import load
from tests.capture.side_by_side import python

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(23):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item().hex())
"""


def steps_of(path):
    with load(path) as recording:
        return [call.step for call in recording.backwards()]


def train(folder, steps, every, kept, between=lambda step: None):
    weight = torch.ones(3, requires_grad=True)
    rotation = Rotation(Recorder, folder / "run.gscope", every, kept)
    rotation.start()
    for step in range(steps):
        (weight * 2).sum().backward()
        between(step)
    return rotation, rotation.stop()


def test_a_traced_run_leaves_the_last_files(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    run = python(tmp_path, "-m", "gradscope", "trace", "--rotate", "5", "--rotate-keep", "2", "train.py")
    plain = python(tmp_path, "train.py")
    assert (run.stdout, run.status) == (plain.stdout, plain.status)
    left = sorted(tmp_path.glob("*.gscope*"), key=lambda path: path.stat().st_mtime_ns)
    assert [path.name.split(".")[2] for path in left] == ["s15", "s20"]
    assert [steps_of(path) for path in left] == [[15, 16, 17, 18, 19], [20, 21, 22]]
    assert f"-> {left[1]}" in run.stderr
    assert run.stderr.splitlines()[-1] == f"gradscope: kept before it: {left[0]}"


def test_each_file_says_where_in_the_run_it_begins(tmp_path):
    rotation, _ = train(tmp_path, 8, 4, 5)
    second = rotation.written[1]
    with load(second) as recording:
        assert (recording.run().steps_before, recording.run().ended) == (4, True)


def test_a_run_that_ends_with_a_file_leaves_no_empty_one(tmp_path):
    rotation, summary = train(tmp_path, 8, 4, 5)
    assert [path.name for path in rotation.written] == ["run.s0.gscope", "run.s4.gscope"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.s0.gscope", "run.s4.gscope"]
    assert summary.backwards == 4


def test_no_recording_is_left_in_memory(tmp_path):
    alive = []

    def count(step):
        if step in (9, 29):
            gc.collect()
            alive.append(sum(type(one) is Recorder for one in gc.get_objects()))

    train(tmp_path, 30, 2, 2, count)
    assert alive[1] <= alive[0]


def test_a_folder_that_is_gone_for_a_while_is_no_end(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()

    def remove(step):
        if step == 5:
            shutil.rmtree(folder)
        if step == 10:
            folder.mkdir()

    rotation, summary = train(folder, 15, 4, 5, remove)
    assert (summary.path.name, steps_of(summary.path)) == ("run.s12.gscope", [12, 13, 14])
    assert any("removed" in sentence for sentence in rotation.trouble)
    assert any("steps from 8 on" in sentence for sentence in rotation.trouble)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_forked_child_leaves_the_files_alone(tmp_path):
    def fork(step):
        if step == 2:
            child = os.fork()
            if child == 0:
                try:
                    weight = torch.ones(3, requires_grad=True)
                    for _ in range(9):
                        (weight * 2).sum().backward()
                finally:  # torch refuses it where a test before has started the engine's threads
                    os._exit(0)
            os.waitpid(child, 0)

    rotation, _ = train(tmp_path, 8, 4, 5, fork)
    assert [steps_of(path) for path in rotation.written] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_options_that_make_no_sense_here(tmp_path, side_by_side):
    (tmp_path / "train.py").touch()
    run = side_by_side.gradscope(tmp_path, "trace", "--rotate", "5", "--keep-last", "3", "train.py")
    assert (run.status, run.stderr.splitlines()[0]) == (
        2,
        "gradscope: --rotate records all steps, into one file after the other",
    )
    assert not list(tmp_path.glob("*.gscope"))


def test_a_folder_that_is_not_there_is_said_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="there is no directory"):
        Rotation(Recorder, tmp_path / "gone" / "run.gscope", 4, 2)
