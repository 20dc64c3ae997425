"""A run that is stopped for a while, and a clock that is set, lose nothing."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.channel.client import Connection, asked
from gradscope.errors import UsageError
from gradscope.model.request import ArmedProgram, RecordRequest
from gradscope.store.reader import load
from gradscope.store.running import is_running, process_identity
from tests.arming.armed_run import LIMIT, ArmedRun, wait_until
from tests.capture.side_by_side import finish, python

HALF = RecordRequest(4, "ops")
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it asks Linux")
ATTACH, DETACH = 16, 17  # of ptrace


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def steps_of(path):
    with load(path) as recording:
        return [call.step for call in recording.backwards()]


def stopped_meanwhile(tmp_path, stop, go_on):
    """Record four steps, the program stopped in the middle of them; answers with what is told at the end."""
    run = ArmedRun(tmp_path, "--arm", gates=(5, 8))
    run.wait_for(5)
    with asked([ArmedProgram(run.pid, "train", 5)], HALF) as [window]:
        run.let_on(5)
        run.wait_for(8)
        stop(run.pid)
        go_on(run.pid)
        run.let_on(8)
        while "finished" not in (message := window.connection.next(LIMIT)):
            pass
    ended, plain = run.end(), python(tmp_path, "train.py")
    assert (ended.stdout, ended.status) == (plain.stdout, 0)
    return message


@NEEDS_PROC
def test_a_program_that_is_stopped_in_a_window_goes_on(tmp_path):
    def stop(pid):
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(pid) == "T")

    done = stopped_meanwhile(tmp_path, stop, lambda pid: os.kill(pid, signal.SIGCONT))
    assert steps_of(done["finished"]) == [6, 7, 8, 9]


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux that debuggers stop so")
def test_a_program_that_a_debugger_stops_goes_on(tmp_path):
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def stop(pid):
        if ptrace(ATTACH, pid, None, None):
            pytest.skip("no process may stop another here")
        wait_until(lambda: state_of(pid) == "t")
        os.waitpid(pid, 0)  # that it has stopped

    def go_on(pid):
        assert ptrace(DETACH, pid, None, None) == 0

    assert steps_of(stopped_meanwhile(tmp_path, stop, go_on)["finished"]) == [6, 7, 8, 9]


@NEEDS_PROC
def test_a_recorder_that_is_stopped_delays_nobody(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    recorder = run.gradscope("record", str(run.pid), "--steps", "4", "--no-explain")
    recorder.stderr.readline()  # it has been promised
    os.kill(recorder.pid, signal.SIGSTOP)
    wait_until(lambda: state_of(recorder.pid) == "T")
    assert run.end().status == 0
    os.kill(recorder.pid, signal.SIGCONT)
    done = finish(recorder)
    assert (done.status, steps_of(tmp_path / "run.s6.gscope")) == (0, [6, 7, 8, 9])


@NEEDS_PROC
def test_a_stopped_program_is_said_not_to_answer(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    os.kill(run.pid, signal.SIGSTOP)
    wait_until(lambda: state_of(run.pid) == "T")
    try:
        with Connection(run.pid) as connection:
            connection.send({"ask": "state"})
            with pytest.raises(UsageError, match="does not answer"):
                connection.next(0.1)
    finally:
        os.kill(run.pid, signal.SIGCONT)
    assert run.end().status == 0


def test_a_folder_that_is_gone_for_a_while_costs_one_window(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    run = ArmedRun(tmp_path, "--arm", "-o", "runs/run.gscope", gates=(5, 20))
    run.wait_for(5)
    folder.rmdir()
    with pytest.raises(UsageError, match="there is no directory"):
        run.record(HALF, 5)
    run.wait_for(20)
    folder.mkdir()
    done = run.record(HALF, 20)
    assert steps_of(done["finished"]) == [21, 22, 23, 24]
    assert run.end().stdout == python(tmp_path, "train.py").stdout


@pytest.mark.parametrize("hours", [-30, 30], ids=["back", "ahead"])
def test_a_clock_that_is_set_makes_no_time(hours, tmp_path, monkeypatch):
    path, wall = tmp_path / "run.gscope", time.time
    with gradscope.record(path) as recorded:
        monkeypatch.setattr(time, "time", lambda: wall() + hours * 3600)
        torch.ones(3, requires_grad=True).sum().backward()
    assert 0 <= recorded.summary.seconds < 3600
    with load(path) as recording:
        assert 0 <= recording.run().duration < 3600


@NEEDS_PROC
@pytest.mark.parametrize("hours", [-30, 30], ids=["back", "ahead"])
def test_a_process_is_known_whatever_the_clock_says(hours, monkeypatch):
    identity, started, wall = process_identity(os.getpid()), time.time(), time.time
    monkeypatch.setattr(time, "time", lambda: wall() + hours * 3600)
    assert is_running(os.getpid(), started, identity)
    assert not is_running(os.getpid(), started, "of another that had this number")


def test_a_recording_says_which_process_writes_it(tmp_path):
    with gradscope.record(tmp_path / "run.gscope"):
        torch.ones(3, requires_grad=True).sum().backward()
    with load(tmp_path / "run.gscope") as recording:
        assert recording.run().process == process_identity(os.getpid())
