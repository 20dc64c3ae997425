"""A program ends as it would without gradscope: the same status, the same last words."""

import signal

import pytest

from gradscope.store.reader import load
from tests.capture.side_by_side import python

ENDS = {
    "number": "import sys; sys.exit(3)",
    "negative": "import sys; sys.exit(-1)",
    "wide": "import sys; sys.exit(257)",
    "text": "import sys; sys.exit('no more')",
    "none": "import sys; sys.exit(None)",
    "true": "raise SystemExit(True)",
    "object": "raise SystemExit((1, 2))",
    "at once": "import os; print('lost in the buffer'); os._exit(5)",
    "error": "def f():\n    return [1, 2][\n        3]\nprint('so far')\nf()",
    "cause": "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('b') from error",
    "interrupt": "import atexit\natexit.register(print, 'at exit')\nraise KeyboardInterrupt",
    "syntax": "print('never')\nif True print(1)",
    "hook": "import sys\nsys.excepthook = lambda *error: print('shown by', error[0])\n1 / 0",
    "thread": "import threading\nthreading.Thread(target=lambda: 1 / 0, name='worker').start()",
    "pool": "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(1).submit(print, 'worked')",
    "last": "import atexit, sys\natexit.register(lambda: print(sys.last_value, sys.last_traceback.tb_lineno))\n1 / 0",
    "warnings": "import warnings\nfor _ in range(3):\n    warnings.warn('once')",
}


@pytest.mark.parametrize("end", ENDS)
def test_ends_the_same_way(side_by_side, tmp_path, end):
    (tmp_path / "end.py").write_text(ENDS[end])
    plain, traced = side_by_side.pair(tmp_path, "end.py")
    assert traced == plain


@pytest.mark.parametrize("program", ["-mbroken.module", "-mbroken", "broken"])
def test_fails_the_same_way_inside_a_package(side_by_side, tmp_path, program):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").touch()
    for name in ("module.py", "__main__.py"):
        (tmp_path / "broken" / name).write_text("1 / 0")
    plain, traced = side_by_side.pair(tmp_path, program)
    assert traced == plain
    assert plain.status == 1


def test_an_interrupt_is_one_although_there_is_something_to_explain(tmp_path):
    lines = ["import torch", "layer = torch.nn.Linear(2, 1)", "layer(torch.ones(1, 2)).softmax(1).sum().backward()"]
    lines += ["raise KeyboardInterrupt"]
    (tmp_path / "end.py").write_text("\n".join(lines))
    run = python(tmp_path, "-m", "gradscope", "trace", "-o", "run.gscope", "end.py")
    assert "GS7" in run.stderr
    assert run.status == -signal.SIGINT


@pytest.mark.parametrize(
    ("first", "why"),
    [("import torch\n", "made no node, and ran no backward"), ("", "did not import torch")],
    ids=["torch", "none"],
)
def test_a_run_in_which_nothing_happened_leaves_no_recording(first, why, tmp_path):
    (tmp_path / "end.py").write_text(f"{first}import argparse\nargparse.ArgumentParser().parse_args()")
    run = python(tmp_path, "-m", "gradscope", "trace", "end.py", "--wrong")
    assert run.status == 2
    assert run.stderr.splitlines()[-1] == f"gradscope: nothing was recorded: the program {why}"
    assert list(tmp_path.glob("*.gscope*")) == []


def test_a_module_is_known_by_its_name(side_by_side, tmp_path):
    (tmp_path / "training.py").write_text("import torch\ntorch.ones(1, requires_grad=True).exp().backward()")
    _, path = side_by_side.traced(tmp_path, "-m", "training", "--steps", "3")
    with load(str(path)) as recording:
        assert recording.run().argv == ("-m", "training", "--steps", "3")
        assert recording.run().program == "training"
