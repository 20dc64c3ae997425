"""`gradscope record` asks, waits, and says what it got."""

import os
import signal

import pytest

from gradscope.channel.client import Connection
from tests.arming.armed_run import ArmedRun, own_channels, wait_until
from tests.capture.side_by_side import finish


@pytest.fixture(autouse=True)
def channel_folder(monkeypatch):
    with own_channels(monkeypatch) as folder:
        yield folder


def asked_for(run, gate, *arguments):
    """Ask while the program waits, and let it on when the request is there."""
    run.wait_for(gate)
    process = run.gradscope("record", *arguments)
    said = process.stderr.readline()
    run.let_on(gate)
    done = finish(process)
    return said, done


def test_it_says_what_was_asked_what_came_and_what_to_type(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    said, done = asked_for(run, 5, "--steps", "3", "--detail", "ops")
    assert said == f"gradscope: run ({run.pid}): 3 steps from step 6 on, at ops\n"
    summary, following = done.stderr.splitlines()
    assert summary.startswith("gradscope: 3 backward calls, ")
    assert summary.endswith(f" -> {tmp_path / 'run.s6.gscope'}")
    assert following == f"gradscope: next: gradscope steps {tmp_path / 'run.s6.gscope'}"
    assert (done.stdout, done.status) == ("", 0)


def test_quiet_prints_the_path_alone(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    process = run.gradscope("record", "--quiet", str(run.pid))
    with Connection(run.pid) as connection:
        wait_until(lambda: connection.ask({"ask": "state"})["waiting"])
    run.let_on(5)
    done = finish(process)
    assert (done.stdout, done.stderr, done.status) == (f"{tmp_path / 'run.s6.gscope'}\n", "", 0)


def test_nothing_is_armed(tmp_path, side_by_side, channel_folder):
    run = side_by_side.gradscope(tmp_path, "record")
    assert (run.status, run.stderr.splitlines()[0]) == (4, "gradscope: no program is armed")


def test_there_is_no_such_process(tmp_path, side_by_side):
    run = side_by_side.gradscope(tmp_path, "record", str(2**22 + 7))
    assert (run.status, run.stderr) == (4, f"gradscope: there is no process {2**22 + 7}\n")


def test_two_are_armed(tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    runs = [ArmedRun(folder, "--arm", gates=(5,)) for folder in folders]
    for run in runs:
        run.wait_for(5)
    done = finish(runs[0].gradscope("record"))
    assert done.status == 2
    assert done.stderr.startswith("gradscope: 2 programs are armed: ")
    assert all(f"{run.pid} (run, step 5)" in done.stderr for run in runs)


def test_what_a_killed_program_left_is_passed_over(tmp_path, channel_folder):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    os.kill(run.pid, signal.SIGKILL)
    run.process.wait()
    assert [path.name for path in channel_folder.iterdir()] == [f"{run.pid}.sock"]
    assert finish(run.gradscope("record")).stderr.startswith("gradscope: no program is armed")
    assert list(channel_folder.iterdir()) == []


def test_ranks_of_what_is_no_rank(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    done = finish(run.gradscope("record", "--ranks", "all"))
    assert (done.status, done.stderr.splitlines()[0]) == (2, "gradscope: run is no rank of a run")
