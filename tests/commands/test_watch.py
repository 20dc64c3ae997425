"""`gradscope watch` shows recordings that grow, are cut short or have ended, on a terminal and without one."""

import os
import signal
import sys

import pytest

from gradscope.store.reader import load
from tests.arming.armed_run import WAITING, ArmedRun, channels, own_channels, wait_until
from tests.capture.side_by_side import finish, python, start

TRAIN = """
for step in range(12):
    gate(step)
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
"""
FAULTY = """
unused = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD([*model.parameters()], 0.0)
for step in range(12):
    gate(step)
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture(autouse=True)
def channel_folder(monkeypatch):
    with own_channels(monkeypatch) as folder:
        yield folder


class Traced:
    """A training under `gradscope trace` that waits before chosen steps."""

    def __init__(self, folder, *gates, program=TRAIN):
        self.folder = folder
        (folder / "train.py").write_text(WAITING + program)
        command = ["-m", "gradscope", "trace", "-q", "-o", "run.gscope", "train.py", *map(str, gates)]
        self.process, self.gates = start(folder, *command, **channels()), gates

    def wait_for(self, step):
        wait_until((self.folder / f"at{step}").exists, self.process)

    def end(self):
        for gate in self.gates:
            (self.folder / f"go{gate}").touch()
        return finish(self.process)


def once(folder, *arguments):
    return python(folder, "-m", "gradscope", "watch", "--once", *arguments, **channels())


def steps_in(path):
    with load(path) as recording:
        return len(recording.backwards())


def test_a_recording_that_grows(tmp_path):
    run = Traced(tmp_path, 6)
    run.wait_for(6)
    wait_until(lambda: steps_in(tmp_path / "run.gscope") == 6)
    seen = once(tmp_path, "run.gscope")
    assert seen.stdout.startswith("run.gscope  being written  step 5  ")
    assert run.end().status == 0


def test_a_recording_that_has_ended(tmp_path):
    assert Traced(tmp_path).end().status == 0
    seen = once(tmp_path)
    assert seen.stdout.startswith("run.gscope  ended  step 11  ")
    assert all(words in seen.stdout for words in ("in backward", "loss", "nodes", "saves", "lr 0.01", "file"))
    assert len(seen.stdout.splitlines()) == 1


def test_a_run_that_was_killed(tmp_path):
    run = Traced(tmp_path, 6)
    run.wait_for(6)
    wait_until(lambda: steps_in(tmp_path / "run.gscope") == 6)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    assert once(tmp_path).stdout.startswith("run.gscope  killed  step 5  ")


def test_a_file_that_was_cut_short(tmp_path):
    Traced(tmp_path).end()
    whole = (tmp_path / "run.gscope").read_bytes()
    (tmp_path / "run.gscope").write_bytes(whole[: len(whole) // 2])
    seen = once(tmp_path)
    assert (seen.status, seen.stderr) == (0, "")
    assert "is damaged" in seen.stdout


def test_a_finding_comes_with_its_line(tmp_path):
    Traced(tmp_path, program=FAULTY).end()
    _, *found = once(tmp_path).stdout.splitlines()
    assert [one.split(maxsplit=1)[0] for one in found] == ["GS805"]
    assert "train.py:" in found[0]


def test_nothing_is_said_of_a_step_that_still_runs(tmp_path):
    run = Traced(tmp_path, 1, program=FAULTY)
    run.wait_for(1)
    wait_until(lambda: steps_in(tmp_path / "run.gscope") == 1)
    assert len(once(tmp_path).stdout.splitlines()) == 1
    run.end()


def test_without_a_terminal_it_prints_lines_until_the_run_has_ended(tmp_path):
    run = Traced(tmp_path, 6)
    run.wait_for(6)
    wait_until(lambda: steps_in(tmp_path / "run.gscope") == 6)
    watching = start(tmp_path, "-m", "gradscope", "watch", "--every", "0.2", "run.gscope")
    assert watching.stdout.readline().startswith("run.gscope  being written  step 5  ")
    run.end()
    rest = finish(watching)
    assert rest.status == 0
    assert rest.stdout.splitlines()[-1].startswith("run.gscope  ended  step 11  ")


def test_a_file_that_is_removed_ends_it(tmp_path):
    run = Traced(tmp_path, 6)
    run.wait_for(6)
    wait_until(lambda: steps_in(tmp_path / "run.gscope") == 6)
    watching = start(tmp_path, "-m", "gradscope", "watch", "--every", "0.2", "run.gscope")
    assert "being written" in watching.stdout.readline()
    (tmp_path / "run.gscope").unlink()
    assert finish(watching).status == 0
    assert run.end().status == 0


def test_an_armed_program_that_ends_ends_it(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    watching = start(tmp_path, "-m", "gradscope", "watch", "--every", "0.2", run.pid, **channels())
    assert "armed  step 5" in watching.stdout.readline()
    assert run.end().status == 0
    rest = finish(watching)
    assert (rest.status, rest.stderr) == (0, "")


def test_ranks_stand_beside_each_other(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        Traced(folder).end()
        (folder / "run.gscope").rename(tmp_path / f"{name}.gscope")
    lines = once(tmp_path, str(tmp_path)).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["one.gscope", "two.gscope"]


def test_a_program_that_is_armed(tmp_path):
    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    assert once(tmp_path, str(run.pid)).stdout == f"run ({run.pid})  armed  step 5\n"


def test_there_is_nothing_to_watch(tmp_path):
    seen = once(tmp_path)
    assert (seen.status, seen.stderr.splitlines()[0]) == (3, "gradscope: there is no .gscope file in this directory")
    (tmp_path / "empty").mkdir()
    assert once(tmp_path, "empty").stderr.startswith("gradscope: there is no .gscope file in empty\n")
    seen = once(tmp_path, "gone.gscope")
    assert (seen.status, seen.stderr.splitlines()[0]) == (3, "gradscope: gone.gscope does not exist")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_an_armed_program_that_ends_closes_the_view(tmp_path):
    from tests.terminal import Terminal

    run = ArmedRun(tmp_path, "--arm", gates=(5,))
    run.wait_for(5)
    with Terminal(tmp_path, "-m", "gradscope", "watch", str(run.pid), TERM="xterm", **channels()) as screen:
        assert "armed" in screen.wait_for("q quit")
        assert run.end().status == 0
        printed, status = screen.end()
    assert status == 0
    assert "armed" in printed


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_on_a_terminal_of_80_by_24(tmp_path):
    import fcntl
    import struct
    import termios

    from tests.terminal import Terminal

    run = Traced(tmp_path, 6)
    run.wait_for(6)
    wait_until(lambda: steps_in(tmp_path / "run.gscope") == 6)
    with Terminal(tmp_path, "-m", "gradscope", "watch", "run.gscope", TERM="xterm", COLUMNS="80", LINES="24") as screen:
        fcntl.ioctl(screen._master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        shown = screen.wait_for("q quit")
        assert "being written" in shown
        assert "gradient norm" in shown
        assert screen.press("p", "PAUSED")
        screen.type("p")
        screen.type("/")
        screen.wait_for("module filter: _")
        screen.type("2\r")
        screen.wait_for("q quit")
        printed, status = screen.end("q")
    assert status == 0
    assert "being written" in printed
    assert run.end().status == 0
