"""A program that is armed runs as ever, and records the steps that it is asked for, again and again."""

import os
import signal
from pathlib import Path

import pytest

from gradscope.channel import address
from gradscope.channel.client import Connection, asked
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.request import ArmedProgram, RecordRequest
from gradscope.store.reader import load
from tests.arming.armed_run import MODEL, TRAIN, WAITING, ArmedRun
from tests.capture.side_by_side import ROOT, python, start

FORK = """
gate(0)
model(torch.randn(8, 4)).sum().backward()
import os
child = os.fork()
if child == 0:
    model(torch.randn(8, 4)).sum().backward()
    os._exit(0)
os.waitpid(child, 0)
gate(1)
for step in range(2, 6): model(torch.randn(8, 4)).sum().backward()
"""
NESTED = """
from torch.utils.checkpoint import checkpoint
x = torch.randn(8, 4, requires_grad=True)
for step in range(12):
    gate(step)
    checkpoint(model, x, use_reentrant=True).sum().backward()
"""
FAILING = """
for step in range(20):
    gate(step)
    hidden = model(torch.randn(8, 4)).exp()
    loss = hidden.sum()
    if step == 12: hidden.add_(1)
    loss.backward()
"""
EARLY = """
import os, signal, sys
class Early:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            os.kill(os.getpid(), signal.SIGUSR1)
            print("asked", flush=True)
            sys.meta_path.remove(Early)
sys.meta_path.insert(0, Early)
"""
HALF = RecordRequest(steps=4, detail="ops")


def steps_of(path):
    with load(path) as recording:
        return [call.step for call in recording.backwards() if call.nested_in is None]


def test_three_recordings_in_one_run_that_prints_what_it_prints_plainly(tmp_path):
    run = ArmedRun(tmp_path, "--arm", program=WAITING + TRAIN, gates=(10, 20, 30))
    done = [run.record(RecordRequest(3, detail), gate) for gate, detail in ((10, "nodes"), (20, "ops"), (30, "full"))]
    ended, plain = run.end(), python(tmp_path, "train.py")
    assert (ended.stdout, ended.status) == (plain.stdout, 0)
    names = [f"run.s{step}.gscope" for step in (11, 21, 31)]
    assert [Path(one["finished"]).name for one in done] == names
    assert [steps_of(one["finished"]) for one in done] == [[11, 12, 13], [21, 22, 23], [31, 32, 33]]


def test_what_was_recorded_is_said_at_the_end(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(10,))
    run.record(HALF, 10)
    first, second = run.end().stderr.splitlines()
    assert first.startswith("gradscope: 4 backward calls, ")
    assert second == f"gradscope: next: gradscope explain {tmp_path / 'run.s11.gscope'}"


def test_nobody_asks(tmp_path):
    run = ArmedRun(tmp_path, "--arm").end()
    assert run.stderr == "gradscope: armed, and not asked for a recording\n"
    assert list(tmp_path.glob("*.gscope*")) == []


def test_the_socket_goes_with_the_program(tmp_path, channel_folder):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    assert [path.name for path in channel_folder.iterdir()] == [f"{run.pid}.sock"]
    run.end()
    assert list(channel_folder.iterdir()) == []


def test_a_step_may_be_named(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    done = run.record(RecordRequest(2, "nodes", at=40), 5)
    assert steps_of(done["finished"]) == [40, 41]


def test_a_step_that_is_over_is_refused(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    with pytest.raises(UsageError, match="step 3 is over: it is at step 5"):
        run.record(RecordRequest(2, "nodes", at=3), 5)


def test_one_recording_at_a_time(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    program = [ArmedProgram(run.pid, "train", 5)]
    with asked(program, HALF), pytest.raises(UsageError, match="recorded already"), asked(program, HALF):
        pass


def test_who_goes_before_it_begins_does_not_want_it_any_more(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5, 6))
    run.wait_for(5)
    with asked([ArmedProgram(run.pid, "train", 5)], HALF):
        pass
    with Connection(run.pid) as later:
        later.state()  # answered in turn: it has heard by now that the other one has gone
    run.let_on(5)
    assert run.record(HALF, 6)["backwards"] == 4


def test_a_signal_asks(tmp_path):
    run = ArmedRun(tmp_path, "--arm=USR1", "--detail", "nodes", gates=(10, 40))
    run.wait_for(10)
    os.kill(run.pid, signal.SIGUSR1)
    run.let_on(10)
    run.wait_for(40)
    run.end()
    assert steps_of(tmp_path / "run.s11.gscope") == list(range(11, 31))


def test_a_signal_that_comes_before_it_is_armed_does_no_harm(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    program = "import torch; print('on')"
    trace = ("-m", "gradscope", "trace", "--arm=USR1")
    run = python(tmp_path, *trace, "-c", program, PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert (run.stdout, run.status) == ("asked\non\n", 0)


def test_a_program_that_is_killed_in_the_middle_leaves_what_it_had(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5, 8))
    run.wait_for(5)
    with asked([ArmedProgram(run.pid, "train", 5)], RecordRequest(20, "ops")) as [window]:
        run.let_on(5)
        run.wait_for(8)
        os.kill(run.pid, signal.SIGKILL)
        assert "begun" in window.connection.next()
        with pytest.raises(UsageError, match="has gone"):
            window.connection.next()
    assert steps_of(tmp_path / "run.s6.gscope") == [6, 7]
    with pytest.raises(NothingCheckedError):
        Connection(run.pid)


def test_a_program_that_ends_in_the_middle_closes_its_recording(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(55,))
    done = run.record(RecordRequest(20, "ops"), 55)
    with load(done["finished"]) as recording:
        assert (recording.run().ended, steps_of(recording.path)) == (True, [56, 57, 58, 59])


def test_a_failure_in_the_window_is_explained_from_it(tmp_path):
    run = ArmedRun(tmp_path, "--arm", program=MODEL + FAILING, gates=(10,))
    run.record(RecordRequest(20, "full"), 10)
    assert run.end().status == 1
    told = python(tmp_path, "-m", "gradscope", "explain", "-q", "run.s11.gscope")
    assert told.status == 1
    assert "GS701" in told.stdout
    assert "train.py:15" in told.stdout


def test_a_backward_inside_of_a_backward_is_no_step(tmp_path):
    run = ArmedRun(tmp_path, "--arm", program=MODEL + NESTED, gates=(4,))
    assert steps_of(run.record(RecordRequest(3, "nodes"), 4)["finished"]) == [5, 6, 7]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_forked_child_is_not_armed_and_its_parent_is(tmp_path):
    run = ArmedRun(tmp_path, "--arm", program=MODEL + FORK, gates=(1,))
    assert run.record(RecordRequest(2, "nodes"), 1)["backwards"] == 2
    assert run.end().status == 0


def test_another_process_is_not_armed(tmp_path):
    process = start(tmp_path, "-c", "input()")
    with pytest.raises(NothingCheckedError, match="is not armed"):
        Connection(process.pid)


def test_options_that_make_no_sense_here(tmp_path, side_by_side):
    (tmp_path / "train.py").touch()
    chosen = side_by_side.gradscope(tmp_path, "trace", "--arm", "--steps", "3:4", "train.py")
    assert (chosen.status, chosen.stderr.splitlines()[0]) == (
        2,
        "gradscope: --arm waits to be asked which steps to record",
    )
    signals = side_by_side.gradscope(tmp_path, "trace", "--arm=KILL", "train.py")
    assert signals.stderr.startswith("gradscope: no recording can be asked for with the signal KILL")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
def test_another_users_request_is_refused(tmp_path, channel_folder):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    asking = f"""
import os
from gradscope.cli import main
import gradscope.commands.record
os.chdir("/")
os.setuid(65534)  # who may not even read this Python's library
main(['record', '{run.pid}'])
"""
    closed = python(tmp_path, "-c", asking, **{address.VARIABLE: str(channel_folder)})
    assert (closed.status, closed.stderr.splitlines()[0]) == (
        2,
        f"gradscope: {channel_folder} is not a folder of yours alone",
    )
    elsewhere = python(tmp_path, "-c", asking, **{address.VARIABLE: f"{channel_folder}-of-nobody"})
    assert (elsewhere.status, elsewhere.stderr.splitlines()[0]) == (
        2,
        f"gradscope: process {run.pid} is another user's",
    )
    channel_folder.chmod(0o777)  # as if the folder had not kept them out
    (channel_folder / f"{run.pid}.sock").chmod(0o777)
    asking = f"""
import os, socket
os.setuid(65534)
one = socket.socket(socket.AF_UNIX)
one.connect("{channel_folder}/{run.pid}.sock")
print(one.recv(1000).decode())
"""
    assert python(tmp_path, "-c", asking).stdout.strip() == '{"refused": "this program is another user\'s"}'
