"""What is said of compiled autograd is what torch's own counter and a plain run say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradscope.capture import Recorder
from gradscope.errors import UsageError
from gradscope.model.compiled import CompiledKind
from gradscope.store.reader import load

ROOT = Path(__file__).parent.parent.parent
SCRIPT = Path(__file__).parent / "backwards.py"
TEXT = SCRIPT.read_text(encoding="utf-8").splitlines()


def run(*arguments: object, status: int = 0) -> str:
    command = [sys.executable, "-W", "ignore", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The recording and what the program printed."""
    path = tmp_path_factory.mktemp("compiled") / "a.gscope"
    output = run("-m", "gradscope", "trace", "--compiled-autograd", "-q", "--no-explain", "-o", path, SCRIPT)
    return path, output


@pytest.fixture(scope="module")
def page(traced: tuple[Path, str]) -> Any:
    return json.loads(run("-m", "gradscope", "compiled", traced[0], "--fmt", "json"))


def test_captures_are_those_that_torch_counts(traced: tuple[Path, str], page: Any) -> None:
    counted = int(traced[1].splitlines()[0].split()[1])
    assert len(page["captures"]) == counted == sum(not run["hit"] for run in page["runs"])


def test_results_are_those_of_a_plain_run(traced: tuple[Path, str]) -> None:
    assert run(SCRIPT).splitlines()[1] == traced[1].splitlines()[1]


def test_nothing_failed(traced: tuple[Path, str]) -> None:
    with load(traced[0]) as recording:
        assert recording.faults() == ()


def test_the_cache_behaves_as_the_program_says(page: Any) -> None:
    expected = [line.rpartition("# ")[2].split(":")[0] for line in TEXT if "# captured" in line or "# hit" in line]
    assert ["hit" if run["hit"] else "captured" for run in page["runs"]] == expected


def test_reasons_are_in_plain_words(page: Any) -> None:
    first, second, third = [one["why"] for one in page["captures"][:3]]
    assert first == "the first backward"
    assert second.startswith("a changed key: AccumulateGrad")
    assert third == "a new node: ExpBackward0 stands where none was captured before"


def test_a_new_node_is_named_by_its_line(page: Any) -> None:
    line = next(number for number, text in enumerate(TEXT, 1) if text.endswith("# extra"))
    assert page["captures"][2]["line"] == f"{SCRIPT}:{line}"


def test_hooks_of_all_kinds_are_calls_in_their_places(traced: tuple[Path, str]) -> None:
    with load(traced[0]) as recording:
        steps = recording.captured()[0].steps
        packed = recording.captured()[3].steps
    hooks = [(step.hook, step.label) for step in steps if step.kind is CompiledKind.HOOK]
    assert hooks == [
        ("pre_hook", "node_prehook"),
        ("post_hook", "node_hook"),
        ("tensor_pre_hook", "tensor_hook"),
        ("post_acc_grad_hook", "post_accumulate"),
    ]
    named = [step.hook or step.op for step in steps if step.kind is not CompiledKind.OTHER]
    assert named == [
        "pre_hook",
        "SumBackward0",
        "post_hook",
        "tensor_pre_hook",
        "MulBackward0",
        "SinBackward0",
        "MmBackward0",
        "call_accumulate_grad",
        "post_acc_grad_hook",
    ]
    assert steps[steps[-1].inputs[0]].kind is CompiledKind.ACCUMULATE
    assert ("unpack_hook", "unpack") in [(step.hook, step.label) for step in packed]


def test_sizes_that_differ_are_dynamic(traced: tuple[Path, str]) -> None:
    with load(traced[0]) as recording:
        sizes = [one.sizes for one in recording.compiled_runs() if one.captured == 1]
    varying = {values for values in zip(*sizes, strict=True) if len(set(values)) > 1}
    assert varying == {(4, 5, 6, 7)}


def test_a_compiled_backward_is_inlined(traced: tuple[Path, str]) -> None:
    with load(traced[0]) as recording:
        last = recording.captured()[-1].steps
    assert {"sin", "cos"} & {
        step.op.partition(".")[0].rpartition("aten.")[2] for step in last if step.kind is CompiledKind.INLINED
    }


def test_eager_order_stands_beside(page: Any) -> None:
    steps = page["captures"][2]["steps"]
    nodes = [step for step in steps if step["kind"] in ("node", "accumulate_grad")]
    assert [step["eager_order"] for step in nodes] == list(range(len(nodes)))
    assert all(step["site"] for step in nodes)


def test_text_and_picture(traced: tuple[Path, str]) -> None:
    text = run("-m", "gradscope", "compiled", traced[0], "--capture", 1)
    assert "8 backward calls under compiled autograd: 5 captured, 3 found in the cache" in text
    assert "4, 5, 6, 7" in text
    dot = run("-m", "gradscope", "compiled", traced[0], "--capture", 1, "--fmt", "dot")
    assert "post_acc_grad_hook post_accumulate" in dot


def test_reading_loads_no_torch(traced: tuple[Path, str]) -> None:
    code = f"import sys; sys.argv = ['gradscope', 'compiled', {str(traced[0])!r}]\n"
    code += "from gradscope.cli import main\ntry: main()\nfinally: print('torch' in sys.modules)"
    assert run("-c", code).splitlines()[-1] == "False"


def test_what_is_not_there_is_one_sentence(traced: tuple[Path, str], tmp_path: Path) -> None:
    assert "there is no capture 9" in run("-m", "gradscope", "compiled", traced[0], "--capture", 9, status=2)
    run("-m", "gradscope", "trace", "-q", "-o", tmp_path / "b.gscope", "-c", "import torch")
    assert "trace --compiled-autograd" in run("-m", "gradscope", "compiled", tmp_path / "b.gscope", status=4)


def test_a_moved_part_of_torch_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch._dynamo.compiled_autograd.verbose_log")
    with pytest.raises(UsageError, match=r"has no torch\._dynamo\.compiled_autograd\.verbose_log"):
        Recorder(tmp_path / "a.gscope", compiled_autograd=True)
    assert not (tmp_path / "a.gscope").exists()
