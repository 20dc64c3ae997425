"""Torch is imported by the program and not for it: what a script says before that holds, as in a plain run."""

import pytest

from tests.capture.side_by_side import backwards, python

STEP = """
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
"""
SETS_ITS_THREADS = f"""
import os, sys
print("torch" in sys.modules, "numpy" in sys.modules)
os.environ["OMP_NUM_THREADS"] = "1"
import torch
print(torch.get_num_threads())
{STEP}"""
ONLY_ASKS_AT_FIRST = f"""
import importlib.util
spec = importlib.util.find_spec("torch")
print(spec.loader.is_package("torch"), spec.origin.endswith("__init__.py"))
import torch
print(type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__)
{STEP}"""
MOVES = f"""
import os
os.chdir(os.sep)
import torch
{STEP}"""
IN_A_THREAD = f"""
import threading
def work():
    import torch
    {STEP.replace(chr(10), chr(10) + "    ")}
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
FORKS_BEFORE = f"""
import os
child = os.fork()
import torch
{STEP}
if child:
    print(os.waitpid(child, 0)[1])
"""
PROGRAMS = {
    "sets its threads": SETS_ITS_THREADS,
    "only asks at first": ONLY_ASKS_AT_FIRST,
    "moves": MOVES,
    "in a thread": IN_A_THREAD,
    "forks before": FORKS_BEFORE,
}
NEVER = "import sys; print('torch' in sys.modules)"


def trace(folder, text, *options):
    """The script plainly and traced: both runs."""
    (folder / "train.py").write_text(text)
    plain = python(folder, "train.py", OMP_NUM_THREADS="2")
    return plain, python(folder, "-m", "gradscope", "trace", *options, "train.py", OMP_NUM_THREADS="2")


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_is_the_first_to_import_torch(program, tmp_path):
    plain, traced = trace(tmp_path, PROGRAMS[program], "-q", "-o", "run.gscope")
    assert traced == plain
    assert plain.status == 0, plain.stderr
    assert backwards(tmp_path / "run.gscope") == 1


def test_a_child_that_was_forked_before_it_has_a_recording_of_its_own(tmp_path):
    trace(tmp_path, FORKS_BEFORE, "-q", "-o", "run.gscope")
    [child] = (path for folder in tmp_path.glob("run.*") if folder.is_dir() for path in folder.iterdir())
    assert backwards(child) == 1


def test_a_program_without_torch_leaves_no_file_and_is_told_so(tmp_path):
    plain, traced = trace(tmp_path, NEVER, "-o", "run.gscope")
    assert (traced.stdout, traced.status) == (plain.stdout, 0)
    assert traced.stderr == "gradscope: nothing was recorded: the program did not import torch\n"
    assert not list(tmp_path.glob("*.gscope"))


def test_a_signal_that_cannot_be_heard_is_told(tmp_path):
    _, traced = trace(tmp_path, IN_A_THREAD, "--arm=USR1")
    assert traced.status == 0
    assert "not recorded: the signal can be heard only where torch is imported in the main thread" in traced.stderr


def test_the_debugger_leaves_it_to_the_program_as_well(tmp_path):
    (tmp_path / "train.py").write_text(SETS_ITS_THREADS)
    found = python(tmp_path, "-m", "gradscope", "debug", "-b", "never", "train.py", OMP_NUM_THREADS="2")
    assert found.stdout.split() == ["False", "False", "1"]
