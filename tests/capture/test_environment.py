"""GRADSCOPE_TRACE records programs whose command line cannot be edited."""

import pytest

from gradscope.store.reader import load
from tests.capture.side_by_side import ROOT, TORCHRUN, backwards, finish, python, start

START = (ROOT / "gradscope_autostart.pth").read_text()
TRAIN = """
import atexit, os, sys, torch
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
print(os.getpid())
"""
DISTRIBUTED = """
import os, torch, torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel
distributed.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(2, 1))
for _ in range(2): model(torch.ones(1, 2)).sum().backward()
distributed.destroy_process_group()
"""
IDLE = "import sys; print('gradscope.capture' in sys.modules, 'torch' in sys.modules)"


@pytest.fixture
def traced(tmp_path):
    """Start Python as if gradscope were installed, with GRADSCOPE_TRACE set. Its folder comes with it."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(START)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "ranks.py").write_text(DISTRIBUTED)

    def begin(wanted, *arguments):
        return start(
            tmp_path, *arguments, PYTHONPATH=f"{ROOT}:{site}", GRADSCOPE_TRACE=str(wanted), OMP_NUM_THREADS="1"
        )

    return begin


def recordings(folder):
    return sorted(path.name for path in folder.rglob("*.gscope*"))


def test_a_file_a_folder_and_a_taken_file(traced, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken.gscope").touch()
    names = ("run.gscope", "folder", "taken.gscope", "nowhere/run.gscope")
    file, folder, taken, nowhere = [finish(process) for process in [traced(name, "train.py") for name in names]]
    assert [run.status for run in (file, folder, taken, nowhere)] == [0, 0, 0, 0]
    assert (file.stderr, folder.stderr, taken.stderr) == ("", "", "")
    assert nowhere.stderr == "gradscope: not recording: there is no directory nowhere\n"
    wanted = (f"train.{folder.stdout.strip()}.gscope", f"taken.{taken.stdout.strip()}.gscope")
    assert recordings(tmp_path) == sorted(["run.gscope", "taken.gscope", *wanted])
    assert backwards(tmp_path / "run.gscope") == 1


def test_a_program_that_only_asks_for_torch_at_first(traced, tmp_path):
    asks = "import importlib.util\nimportlib.util.find_spec('torch')\n"
    (tmp_path / "asks.py").write_text(asks + TRAIN)
    assert finish(traced("run.gscope", "asks.py")).status == 0
    assert backwards(tmp_path / "run.gscope") == 1


def test_torchrun_gives_one_file_for_each_rank_and_none_for_itself(traced, tmp_path):
    (tmp_path / "folder").mkdir()
    run = finish(traced("folder", *TORCHRUN, "ranks.py"))
    assert run.status == 0, run.stderr
    names = recordings(tmp_path)
    assert [name.rsplit(".", 2)[0] for name in names] == [f"ranks.r0000{rank}-of-00002" for rank in (0, 1)]
    for rank, name in enumerate(names):
        with load(str(tmp_path / "folder" / name)) as recording:
            assert (recording.run().rank, recording.run().world_size, len(recording.backwards())) == (rank, 2, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "gradscope", "trace", "-q", "-o", "own.gscope", "train.py"],
        ["-m", "gradscope", "trace", "--help"],
        ["-c", "import torch"],
    ],
    ids=["trace", "help", "idle"],
)
def test_leaves_no_file_of_its_own(traced, tmp_path, arguments):
    assert finish(traced("run.gscope", *arguments)).status == 0
    assert "run.gscope" not in recordings(tmp_path)


def test_a_program_without_torch_pays_for_nothing(traced):
    assert finish(traced("run.gscope", "-c", IDLE)).stdout == "False False\n"


def test_errors_are_shown_as_ever(traced, tmp_path):
    (tmp_path / "wrong.py").write_text("import torch\ntorch.nn.Linear(2, 2)(torch.ones(3))")
    assert finish(traced("run.gscope", "wrong.py")) == python(tmp_path, "wrong.py")
