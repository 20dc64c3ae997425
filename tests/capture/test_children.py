"""The processes of a traced program have recordings of their own, and see nothing of it."""

import _posixsubprocess
import json
import os
import sys

import pytest

from gradscope.commands import trace
from gradscope.launch.handing_on import VARIABLE, HandingOn
from gradscope.model.family import OF_PARENTS, Family
from gradscope.store.reader import load, newest
from tests.capture.side_by_side import ROOT, TORCHRUN, backwards, finish, start
from tests.torch_versions import spoken

START = (ROOT / "gradscope_autostart.pth").read_text()
STEP = """
import multiprocessing, os, subprocess, sys, torch
def step(times=1):
    x = torch.ones(2, requires_grad=True)
    for _ in range(times): (x * 2).sum().backward()
    return x.grad.tolist()
def fails(): step(3); raise ValueError("on purpose")
def idles(): torch.ones(2) + 1
"""
METHODS = (
    STEP
    + """
if __name__ == "__main__":
    step()
    for times, method in enumerate(("fork", "spawn", "forkserver"), 2):
        child = multiprocessing.get_context(method).Process(target=step, args=(times,))
        child.start(); child.join(); print(method, child.exitcode, "GRADSCOPE_TRACE" in os.environ)
"""
)
ENDS = (
    STEP
    + """
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    for target in (fails, idles):
        child = fork.Process(target=target); child.start(); child.join(); print(child.exitcode)
    with fork.Pool(1) as pool: print(pool.apply(step, (4,)))
    child = os.fork()
    if child == 0:
        step(5)
        sys.exit(6)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
)
OTHERS = (
    STEP
    + """
code = "import os, torch; print('GRADSCOPE_TRACE' in os.environ); torch.ones(2, requires_grad=True).sum().backward()"
if __name__ == "__main__":
    step()
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "A": "1"})
    subprocess.run([sys.executable, "-c", "import torch"])
    subprocess.run("env | grep -c GRADSCOPE_TRACE", shell=True)
"""
)
DIRECT = (
    STEP
    + """
code = "import os, sys, torch; print('GRADSCOPE_TRACE' in os.environ, sys.argv[1:]);"
code += "[torch.ones(2, requires_grad=True).sum().backward() for _ in sys.argv[2]]"
if __name__ == "__main__":
    step()
    words = [sys.executable, "-c", code]
    child = os.posix_spawn(sys.executable, [*words, "posix_spawn", "."], {**os.environ, "A": "1"})
    os.waitpid(child, 0)
    print(os.spawnv(os.P_WAIT, sys.executable, [*words, "spawnv", ".."]))
    subprocess.run([*words, "close_fds", "..."], close_fds=False)
    os.posix_spawn("/bin/sh", ["sh", "-c", "env | grep -c GRADSCOPE_TRACE"], os.environ); os.wait()
    try: os.execv("nowhere", ["nowhere"])
    except FileNotFoundError as error: print(error, "GRADSCOPE_TRACE" in os.environ, flush=True)
    os.execle(sys.executable, *words, "exec", "....", os.environ)
"""
)
RANKS = """
import torch, torch.distributed as distributed
distributed.init_process_group("gloo")
torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))(torch.ones(1, 2)).sum().backward()
distributed.destroy_process_group()
"""

OWN_RANKS = """
import os, sys, torch, torch.distributed as distributed, torch.multiprocessing as processes
def work(rank, store):
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    model(torch.ones(1, 2)).sum().backward()
    distributed.destroy_process_group()
if __name__ == "__main__": processes.spawn(work, args=(os.path.abspath("store"),), nprocs=2)
"""


@pytest.fixture
def traced(tmp_path):
    """Trace a program in a Python that has gradscope installed. Answers with its run, and its folder's recordings."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(START)

    def run(program, *options, plain=False):
        (tmp_path / "train.py").write_text(program)
        command = ["train.py"] if plain else ["-m", "gradscope", "trace", "--no-explain", *options]
        ended = finish(start(tmp_path, *command, PYTHONPATH=f"{ROOT}:{site}", OMP_NUM_THREADS="1"))
        return ended, sorted(tmp_path.glob("*/*.gscope"))

    return run


def test_every_start_method_leaves_a_recording_and_no_word(traced):
    plain, _ = traced(METHODS, plain=True)
    run, files = traced(METHODS, "train.py")
    assert (run.stdout, run.status) == (plain.stdout, plain.status)
    assert sorted(map(backwards, files)) == [2, 3, 4]
    assert {path.parent.name.split(".")[0] for path in files} == {"train"}
    said = spoken(run.stderr)
    assert said[0].startswith("gradscope: 1 backward call")
    assert said[2].startswith("gradscope: and 3 child processes, ")
    assert said[3].startswith("gradscope: next: gradscope info train.")


def test_children_that_raise_are_terminated_idle_or_forked_by_hand(traced):
    plain, _ = traced(ENDS, plain=True)
    run, files = traced(ENDS, "train.py")
    assert (run.stdout, run.status) == (plain.stdout, plain.status)
    assert sorted(map(backwards, files)) == [3, 4, 5]
    with_exception = {}
    for path in files:
        with load(str(path)) as recording:
            with_exception[len(recording.backwards())] = recording.run().exception
    assert with_exception == {3: "ValueError: on purpose", 4: None, 5: None}


def test_other_pythons_are_recorded_when_that_is_asked_for_and_else_counted(traced):
    plain, _ = traced(OTHERS, plain=True)
    run, files = traced(OTHERS, "train.py")
    assert (run.stdout, run.status, files) == (plain.stdout, plain.status, [])
    left_out = "gradscope: 1 child process that ran a backward left out: with --children they are recorded"
    assert spoken(run.stderr)[-1] == left_out
    run, files = traced(OTHERS, "--children", "train.py")
    assert (run.stdout, [*map(backwards, files)]) == (plain.stdout, [1])


def test_pythons_that_take_a_place_or_are_spawned_are_recorded_when_that_is_asked_for(traced):
    plain, _ = traced(DIRECT, plain=True)
    run, files = traced(DIRECT, "--children", "train.py")
    assert (run.stdout, run.status) == (plain.stdout, plain.status)
    assert sorted(map(backwards, files)) == [1, 2, 3, 4]


def test_no_children_when_they_are_not_wanted(traced):
    run, files = traced(METHODS, "--no-children", "train.py")
    assert files == []
    left_out = "gradscope: 3 child processes that ran a backward left out: without --no-children they are recorded"
    assert spoken(run.stderr)[-1] == left_out


def test_a_traced_launcher_leaves_a_file_for_each_rank(traced):
    run, files = traced(RANKS, *TORCHRUN, "train.py")
    assert run.status == 0, run.stderr
    assert [path.name.split(".")[1] for path in files] == ["r00000-of-00002", "r00001-of-00002"]
    folder = files[0].parent
    assert spoken(run.stderr)[-1] == f"gradscope: next: gradscope ranks {folder.name}"
    assert newest(folder, 1) == files[1]


def test_ranks_that_a_program_starts_itself_are_known_by_what_torch_is_told(traced):
    run, files = traced(OWN_RANKS, "train.py")
    assert run.status == 0, run.stderr
    ranks = {}
    for path in files:
        with load(path) as recording:
            ranks[recording.run().rank] = (recording.run().world_size, path)
    assert {rank: world for rank, (world, _) in ranks.items()} == {0: 2, 1: 2}
    assert newest(files[0].parent, 1) == ranks[1][1]


def test_a_process_that_starts_others_keeps_its_environment(monkeypatch):
    given = []
    monkeypatch.setattr("_posixsubprocess.fork_exec", lambda *arguments: given.append(arguments) or 1)
    before = dict(os.environ)
    handing_on = HandingOn("wanted")
    handing_on.put()
    here = os.fsencode(sys.executable)
    for executable in (here, b"/bin/sh"):
        _posixsubprocess.fork_exec([executable], [executable], True, (), None, [b"A=1"])
    handing_on.restore()
    _posixsubprocess.fork_exec([here], [here], True, (), None, [b"A=1"])
    assert [arguments[5] for arguments in given] == [[b"A=1", f"{VARIABLE}=wanted".encode()], [b"A=1"], [b"A=1"]]
    assert dict(os.environ) == before


def test_who_belongs_to_a_family():
    family = Family("/folder", "train", {}, "/marks")
    rank = {"RANK": "0", "WORLD_SIZE": "2"}
    worker = ["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()", "--multiprocessing-fork"]
    assert Family.read(family.text) == family
    assert (family.has(worker, {}), family.has(["python", "train.py"], rank)) == (True, True)
    assert family.has(["python", "train.py"], {"LOCAL_RANK": "1", "WORLD_SIZE": "2"})  # as Lightning starts one
    assert not family.has(["python", "train.py"], {})
    assert not family.of(rank).has(["python", "tool.py"], rank)  # a rank's own tools are no ranks
    every, none = (Family("/folder", "train", {}, "/marks", which) for which in OF_PARENTS[1:])
    assert (every.has(["python", "tool.py"], {}), none.has(worker, rank)) == (True, False)


@pytest.mark.parametrize("text", ["{}", "{", "[1]", json.dumps({"folder": "/"}), '{"which": "some"}'])
def test_what_is_no_family_is_none(text):
    assert Family.read(text) is None


def test_a_folder_of_children_is_named_after_its_process(tmp_path):
    named = trace._family({}, tmp_path / "run.gscope", "train", None)
    usual = trace._family({}, tmp_path / f"train.{os.getpid()}.gscope", "train", None)
    assert named.folder == str(tmp_path / f"run.{os.getpid()}")
    assert usual.folder == str(tmp_path / f"train.{os.getpid()}")
