"""A run that is killed, leaves at once or loses its disk keeps what it had recorded, and is not disturbed."""

import torch

import gradscope
from gradscope.store.reader import load
from tests.capture.side_by_side import python
from tests.torch_versions import APPLY_IS_IN_PYTHON, spoken

# Waits for a commit by the heartbeat: the log beside the recording grows with each.
WAIT = """
import glob, os, signal, threading, time
def wait_for_a_commit():
    (log,) = glob.glob(os.environ["LOG"])
    size = os.path.getsize(log)
    while os.path.getsize(log) == size: time.sleep(0.01)
"""
FORWARD_ONLY = f"""{WAIT}
import torch
torch.ones(4, requires_grad=True)
x = torch.ones(4)
with torch.no_grad():
    for _ in range(50): x.add_(1)
for _ in range(2): wait_for_a_commit()
os.kill(os.getpid(), signal.SIGKILL)
"""
IN_A_THREAD = f"""{WAIT}
import torch
def work():
    x = torch.ones(4)
    for _ in range(50): x.add_(1)
    ready.set()
    threading.Event().wait()
ready = threading.Event()
threading.Thread(target=work, daemon=True).start()
ready.wait()
for _ in range(2): wait_for_a_commit()
os.kill(os.getpid(), SIGNAL)
"""
AFTER_A_COMMIT = f"""{WAIT}
import torch
w = torch.ones(3, requires_grad=True)
x = torch.ones(3).mul_(2)
for _ in range(2): wait_for_a_commit()
x.add_(1)
(w * x).sum().backward()
END
"""
ALONE = """
import os, sys, threading, warnings, torch
print(threading.enumerate() == [threading.main_thread()], threading.active_count())
warnings.simplefilter("error")
torch.set_num_threads(1)
for _ in range(3):
    if not (child := os.fork()):
        os._exit(len(os.listdir("/proc/self/task")))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
GONE = """
import shutil, torch
w = torch.ones(3, requires_grad=True)
for step in range(6):
    if step == 3: shutil.rmtree("gone")
    (w * 2).sum().backward()
print(w.grad)
"""
FULL = """
import resource, signal, torch
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file may not grow any more: as good as a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
w = torch.ones(3, requires_grad=True)
for step in range(200):
    y = w * torch.ones(step + 1, 3)
    for _ in range(step): y = y * 2
    y.sum().backward()
print(w.grad)
"""
COLLECTIVE = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo", init_method=f"file://{os.path.abspath('store')}", rank=0, world_size=1)
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, grad): return grad * 2
real = type(dist.group.WORLD).allreduce
Double.apply(torch.ones(2, requires_grad=True))
x = torch.ones(2)
dist.all_reduce(x)
os._exit(3)
"""


def killed(folder, code, detail="ops"):
    run = python(
        folder, "-m", "gradscope", "trace", "-q", "-o", "run.gscope", "--detail", detail, "-c", code, LOG="*-wal"
    )
    assert run.stderr == ""
    return run, folder / "run.gscope"


def writes(recording):
    return [write.version for block in recording.blocks() for one in block.operations for write in one.writes]


def test_a_killed_run_that_only_computed_forward_is_there(tmp_path):
    run, path = killed(tmp_path, FORWARD_ONLY)
    assert run.status == -9
    with load(path) as recording:
        assert writes(recording)[-50:] == list(range(50))
        assert recording.census().mutations == len(writes(recording))
        assert recording.recovered
        assert not recording.run().ended
        assert recording.run().duration > 0


def test_the_operators_of_a_thread_that_waits_are_there(tmp_path):
    for number, name in ((9, "SIGKILL"), (15, "SIGTERM")):
        (tmp_path / name).mkdir()
        run, path = killed(tmp_path / name, IN_A_THREAD.replace("SIGNAL", str(number)))
        assert run.status == -number
        with load(path) as recording:
            assert [len(block.operations) for block in recording.blocks() if block.thread == 1] == [51]


def test_what_the_heartbeat_wrote_is_not_there_twice(tmp_path):
    for end, status in (("", 0), ("os._exit(5)", 5)):
        folder = tmp_path / str(status)
        folder.mkdir()
        run, path = killed(folder, AFTER_A_COMMIT.replace("END", end))
        assert run.status == status
        with load(path) as recording:
            assert writes(recording)[:2] == [0, 1]
            assert [block.backward for block in recording.blocks()] == [None, 0]
            assert recording.source("<string>") is None
            assert len(recording.backwards()) == 1


def test_no_thread_of_ours_is_seen_or_forked(side_by_side, tmp_path):
    plain, traced = side_by_side.pair(tmp_path, "-c", ALONE)
    assert traced == plain
    assert plain.stdout.split("\n", 1)[0] == "True 1"


def test_a_removed_directory_stops_the_recording_and_not_the_run(side_by_side, tmp_path):
    (tmp_path / "gone").mkdir()
    run = side_by_side.gradscope(tmp_path, "trace", "-o", "gone/run.gscope", "-c", GONE)
    assert (run.stdout, run.status) == ("tensor([12., 12., 12.])\n", 0)
    left_out, stopped = spoken(run.stderr)[1:]
    steps = int(left_out.removeprefix("gradscope: left out: ").removesuffix(" steps after the recording had stopped"))
    assert steps in (2, 3), "a heartbeat may notice it in the middle of the step"
    assert stopped == "gradscope: the recording stopped early: the file has been removed or replaced"


def test_a_full_disk_stops_the_recording_and_not_the_run(side_by_side, tmp_path):
    run = side_by_side.gradscope(tmp_path, "trace", "-o", "run.gscope", "-c", FULL)
    assert (run.stdout, run.status) == (python(tmp_path, "-c", FULL).stdout, 0)
    left_out, stopped = spoken(run.stderr)[1:3]
    assert left_out.endswith("steps after the recording had stopped")
    assert stopped.startswith("gradscope: the recording stopped early: ")
    with load(tmp_path / "run.gscope") as recording:
        count = len(recording.backwards())
        assert 1 < count < 200
        assert len(recording.graph(count - 1).nodes) > 3


def test_a_collective_is_preceded_by_a_commit(tmp_path):
    for detail in ("nodes", "ops"):
        folder = tmp_path / detail
        folder.mkdir()
        run, path = killed(folder, COLLECTIVE, detail)
        assert run.status == 3
        with load(path) as recording:
            seen = APPLY_IS_IN_PYTHON or detail == "ops"
            assert recording._rows.number("SELECT count(*) FROM function_call") == int(seen)
            names = [one.name for block in recording.blocks() for one in block.operations]
        assert [name for name in names if name.startswith("c10d")] == ["c10d.allreduce_.default"] * (detail == "ops")


def test_the_size_that_was_asked_for_holds(side_by_side, tmp_path):
    grows = FULL.replace("(2_000_000,", "(resource.RLIM_INFINITY,")
    run = side_by_side.gradscope(tmp_path, "trace", "-o", "run.gscope", "--max-size", "1MB", "-c", grows)
    assert any(line.endswith("steps before the last ones that fit into --max-size") for line in spoken(run.stderr))
    assert 300_000 < (tmp_path / "run.gscope").stat().st_size <= 1_000_000
    with load(tmp_path / "run.gscope") as recording:
        assert recording.run().ended
        census = recording.census()
        assert (census.steps, census.last_step) == (200 - sum(census.dropped.values()), 199)
        assert recording.graph().nodes


def test_one_step_that_is_larger_than_the_size_does_not_break_it(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    path = tmp_path / "run.gscope"
    with gradscope.record(path, max_size="1MB") as recorded:
        for _ in range(3):
            total = weight
            for step in range(20_000):
                total = total * torch.ones(step % 97 + 1, 3)[0]
            total.sum().backward()
    assert path.stat().st_size <= 1_000_000
    assert recorded.summary.failure or recorded.summary.dropped
    with load(path) as recording:
        recording.census()
