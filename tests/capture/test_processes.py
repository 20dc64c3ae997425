"""A recording holds what its own process did: children have their own, and neither write into it nor harm it."""

from gradscope.store.reader import load
from tests.capture.side_by_side import backwards, finish, python, start
from tests.torch_versions import spoken

FORK = """
import os, torch
x = torch.ones(2, requires_grad=True)
def step(): (x * 2).sum().backward()
step()
for leave in (lambda: os._exit(0), exit):
    child = os.fork()
    if child == 0:
        for _ in range(5): step()
        leave()
    os.waitpid(child, 0)
    step()
"""
WORKERS = """
import multiprocessing, torch
from torch.utils.data import DataLoader
class Numbers(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, index): return step(torch.full((2,), float(index)))
def step(data):
    x = data.clone().requires_grad_()
    (x * 2).sum().backward()
    return x.grad
if __name__ == "__main__":
    step(torch.ones(2))
    for batch in DataLoader(Numbers(), batch_size=4, num_workers=2):
        print(step(batch).tolist())
    for method in ("fork", "spawn"):
        child = multiprocessing.get_context(method).Process(target=step, args=(torch.ones(2),))
        child.start()
        child.join()
        print(method, child.exitcode)
"""
LATE = """
import atexit, threading, torch
x = torch.ones(2, requires_grad=True)
def step(): (x * 2).sum().backward()
ended = threading.Event()
def work():
    threading.main_thread().join()
    step()
threading.Thread(target=work).start()
atexit.register(step)
step()
"""
KILLED = """
import os, signal, torch
x = torch.ones(2, requires_grad=True)
for _ in range(3): (x * 2).sum().backward()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_forked_children_leave_their_parents_recording_alone(side_by_side, tmp_path):
    run, path = side_by_side.traced(tmp_path, "-c", FORK)
    assert (run.stderr, run.status) == ("", 0)
    assert backwards(path) == 3


def test_only_the_parent_speaks_at_the_end(side_by_side, tmp_path):
    run = side_by_side.gradscope(tmp_path, "trace", "-o", "run.gscope", "-c", FORK)
    said = [line.split(",")[0] for line in spoken(run.stderr) if ": next:" not in line]
    assert said == ["gradscope: 3 backward calls", "gradscope: and 2 child processes"]


def test_workers_and_spawned_children_run_as_ever(side_by_side, tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS)
    plain = start(tmp_path, "workers.py")
    run, path = side_by_side.traced(tmp_path, "workers.py")
    ended = finish(plain)
    assert (ended.stdout, ended.status) == (run.stdout, run.status)
    assert backwards(path) == 3


def test_threads_and_exit_functions_belong_to_the_recording(side_by_side, tmp_path):
    run, path = side_by_side.traced(tmp_path, "-c", LATE)
    assert (run.stderr, run.status) == ("", 0)
    assert backwards(path) == 3


def test_a_killed_run_keeps_what_was_committed(side_by_side, tmp_path):
    run, path = side_by_side.traced(tmp_path, "-c", KILLED)
    assert run.status == -9
    with load(str(path)) as recording:
        assert (len(recording.backwards()), recording.run().ended, recording.recovered) == (3, False, True)


def test_a_run_that_leaves_at_once_keeps_what_was_committed(side_by_side, tmp_path):
    run, path = side_by_side.traced(
        tmp_path, "-c", KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "os._exit(5)")
    )
    assert run.status == 5
    assert backwards(path) == 3
    assert side_by_side.gradscope(tmp_path, "info", path).status == 0


def test_one_real_command_line_works_like_all_the_forked_ones(tmp_path):
    run = python(tmp_path, "-W", "error", "-m", "gradscope", "trace", "-q", "-o", "run.gscope", "-c", FORK)
    assert (run.stdout, run.stderr, run.status) == ("", "", 0)
    assert backwards(tmp_path / "run.gscope") == 3
