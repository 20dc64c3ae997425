"""A program that was started without gradscope is armed by a file that Python has it run: here a stand-in does, but for
the last test, in which Python does itself where it can."""

import os
import sys
from pathlib import Path

import pytest

from gradscope.arming.armed import Armed
from gradscope.autostart import attach as arm_this
from gradscope.channel import attach as attaching
from gradscope.channel.client import NotArmed, asked
from gradscope.errors import UsageError
from gradscope.model.request import ArmedProgram, RecordRequest
from gradscope.store.reader import load
from tests.arming.armed_run import LIMIT, WAITING, channels, own_channels, wait_until
from tests.capture.side_by_side import finish, python, start

REFUSED = NotArmed("process 1 is not armed")
PATIENCE = float(LIMIT)
TRAIN = (
    WAITING
    + """
for step in range(40):
    gate(step)
    wanted = pathlib.Path("execute")
    if wanted.exists():  # as Python does from 3.14 on
        exec(pathlib.Path(wanted.read_text()).read_text(), {})
        wanted.unlink()
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""
)
NO_TORCH = """
import pathlib, time
pathlib.Path("at0").touch()
while not pathlib.Path("execute").exists(): time.sleep(0.005)
exec(pathlib.Path(pathlib.Path("execute").read_text()).read_text(), {})
"""


@pytest.fixture(autouse=True)
def channel_folder(monkeypatch):
    with own_channels(monkeypatch) as folder:
        yield folder


def begun(folder, program, *gates):
    (folder / "train.py").write_text(program)
    return start(folder, "train.py", *map(str, gates), **channels())


def executing(folder, gate):
    """What stands in for sys.remote_exec, and lets the program on."""

    def execute(pid, script):
        (folder / "part").write_text(script)
        (folder / "part").rename(folder / "execute")
        (folder / f"go{gate}").touch()

    return execute


def recorded(folder, process, step, gate):
    wait_until((folder / f"at{gate}").exists, process)
    with asked([ArmedProgram(process.pid, "train", step)], RecordRequest(3, "ops")) as [window]:
        (folder / f"go{gate}").touch()
        while "finished" not in (message := window.connection.next(LIMIT)):
            pass
        return message["finished"]


def test_a_program_that_was_started_plainly_is_recorded_twice(tmp_path):
    process = begun(tmp_path, TRAIN, 5, 10, 20)
    wait_until((tmp_path / "at5").exists, process)
    attaching.attach(process.pid, REFUSED, executing(tmp_path, 5), PATIENCE)
    paths = [recorded(tmp_path, process, 0, gate) for gate in (10, 20)]
    ended, plain = finish(process), python(tmp_path, "train.py")
    assert (ended.stdout, ended.stderr, ended.status) == (plain.stdout, "", 0)
    for path in paths:
        with load(path) as recording:
            assert len(recording.backwards()) == 3
    assert [Path(path).name for path in paths] == [f"train.{process.pid}.s{step}.gscope" for step in (6, 16)]


def test_a_program_without_torch_is_left_alone(tmp_path):
    process = begun(tmp_path, NO_TORCH)
    wait_until((tmp_path / "at0").exists, process)
    with pytest.raises(UsageError, match="is not armed, and cannot be: it has not imported torch"):
        attaching.attach(process.pid, REFUSED, executing(tmp_path, 0), PATIENCE)
    ended = finish(process)
    assert (ended.stdout, ended.stderr, ended.status) == ("", "", 0)


def test_a_program_in_the_middle_of_importing_torch_is_left_alone(tmp_path):
    (tmp_path / "torch.py").write_text(NO_TORCH)
    process = begun(tmp_path, "import torch")
    wait_until((tmp_path / "at0").exists, process)
    with pytest.raises(UsageError, match="is not armed, and cannot be: it is just importing torch; ask again"):
        attaching.attach(process.pid, REFUSED, executing(tmp_path, 0), PATIENCE)
    ended = finish(process)
    assert (ended.stdout, ended.stderr, ended.status) == ("", "", 0)


def test_what_comes_too_late_does_nothing(capsys):
    scripts = []
    with pytest.raises(UsageError, match="its main thread runs no Python now"):
        attaching.attach(os.getpid(), REFUSED, lambda pid, script: scripts.append(Path(script)), 0.01)
    (script,) = scripts
    exec(script.read_text(), {})
    assert not script.parent.exists()
    assert Armed.running is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PermissionError("a reason"), "the system does not permit it"),
        (RuntimeError("a reason"), "it does not run Python "),
        (ValueError("a reason"), "a reason"),
    ],
)
def test_where_python_cannot_it_is_one_sentence(error, told):
    scripts = []

    def refuse(pid, script):
        scripts.append(Path(script))
        raise error

    with pytest.raises(UsageError, match=f"is not armed, and cannot be attached to: {told}"):
        attaching.attach(os.getpid(), REFUSED, refuse)
    assert not scripts[0].parent.exists()


@pytest.mark.skipif(not Path("/proc/self/ns/mnt").exists(), reason="it asks Linux")
def test_another_users_process_is_refused_before_anything_is_written(monkeypatch):
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(UsageError, match="is another user's"):
        attaching.attach(os.getpid(), REFUSED, lambda pid, script: pytest.fail("it was asked"))


def test_a_program_that_is_armed_need_not_be_again(monkeypatch):
    monkeypatch.setattr(Armed, "running", object())
    assert arm_this() == ""


@pytest.mark.skipif(attaching.can_attach(), reason="this Python can")
def test_an_older_python_says_how_to_arm(tmp_path):
    process = start(tmp_path, "-c", "import time; time.sleep(60)")
    told = python(tmp_path, "-m", "gradscope", "record", str(process.pid), **channels())
    process.kill()
    finish(process)
    assert (told.status, told.stderr.splitlines()[0]) == (4, f"gradscope: process {process.pid} is not armed")


@pytest.mark.skipif(not attaching.can_attach(), reason="from Python 3.14 on")
def test_python_itself_has_the_program_armed(tmp_path):
    process = begun(tmp_path, TRAIN, 5, 10)
    wait_until((tmp_path / "at5").exists, process)
    try:
        attaching.attach(process.pid, REFUSED, sys.remote_exec, PATIENCE)
    except UsageError as error:
        finish_all(tmp_path, process)
        pytest.skip(f"not permitted here: {error.sentence}")
    (tmp_path / "go5").touch()
    path = recorded(tmp_path, process, 0, 10)
    ended, plain = finish_all(tmp_path, process), python(tmp_path, "train.py")
    assert (ended.stdout, ended.stderr, ended.status) == (plain.stdout, "", 0)
    with load(path) as recording:
        assert len(recording.backwards()) == 3


def finish_all(folder, process):
    for gate in (5, 10):
        (folder / f"go{gate}").touch()
    return finish(process)
