"""`doctor` says what works, by trying it; and recording refuses in one sentence what cannot work."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

import gradscope.capture  # what tests take away was there when it was imported
from gradscope.cli import gradscope
from gradscope.errors import Exit, UsageError
from gradscope.model.torch_part import State
from gradscope.torch_internals import lacks, trials
from gradscope.torch_internals.find import find
from gradscope.torch_internals.parts import PARTS, TABLE
from tests.torch_versions import HAS_NODE_CREATION_HOOK, needs_saved_tensors

ROOT = Path(__file__).parent.parent.parent
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\nimport importlib.util as u; find = u.find_spec\n"
WITHOUT_TORCH += "u.find_spec = lambda name, *more: None if name == 'torch' else find(name, *more)\n"


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(gradscope, ["doctor", *arguments], standalone_mode=False)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


@needs_saved_tensors
def test_all_is_well_here() -> None:
    result = doctor()
    assert result.return_value == Exit.OK, result.stdout
    assert "--detail full    works\n" in result.stdout
    assert all(any(f"  {name} " in result.stdout for name in (part.name, *part.variants)) for part in TABLE)


@needs_saved_tensors
def test_everything_that_a_small_program_does_is_seen() -> None:
    page = json.loads(doctor("--fmt", "json").stdout)
    assert {one["what"] for one in page["seen"]} >= {"node", "operator", "hook", "custom Function", "module call"}
    assert [one for one in page["seen"] if not one["seen"]] == []


@needs_saved_tensors
def test_json_has_the_same() -> None:
    page = json.loads(doctor("--fmt", "json").stdout)
    assert page["well"]
    assert torch.__version__.startswith(page["torch"].split()[0])
    assert [one["name"] for one in page["parts"]] == [part.name for part in TABLE]
    assert {one["state"] for one in page["parts"] if not one["refines"]} == {"present"}
    assert page["details"] == {"nodes": [], "ops": [], "full": []}


@needs_saved_tensors
def test_an_absent_part_is_named_with_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch._C._storage_Use_Count")
    result = doctor()
    assert result.return_value == Exit.FINDINGS
    lines = result.stdout.splitlines()
    assert "--detail nodes   works" in lines
    lost = f"operators are not recorded: torch {torch.__version__} has no torch._C._storage_Use_Count"
    assert f"--detail ops     works, but {lost}" in lines
    assert any("_storage_Use_Count " in line and " absent " in line for line in lines)


CHANGES = {
    "current_node": ("torch._C._current_autograd_node", lambda: None, "torch._C._current_autograd_node"),
    "level": ("torch._C._functorch.maybe_current_level", lambda: None, "torch._C._functorch.maybe_current_level"),
    "engine": ("torch.autograd._engine_run_backward", lambda *_, **__: (), "_engine_run_backward"),
    "modules": ("torch.nn.Module._wrapped_call_impl", len, "torch.nn.Module._wrapped_call_impl"),
    "reducer": (
        "torch.nn.parallel.DistributedDataParallel._ddp_init_helper",
        lambda: None,
        "torch.distributed.Reducer",
    ),
    "collectives": ("torch.distributed.distributed_c10d.broadcast", len, "_rank_not_in_group"),
}


def changed() -> set[str]:
    return {part.name for part in TABLE if lacks.checked(part).state is State.CHANGED}


@pytest.mark.parametrize("change", CHANGES)
def test_a_part_that_does_something_else_has_changed(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, instead, expected = CHANGES[change]
    monkeypatch.setattr(where, instead)
    assert any(name.endswith(expected) for name in changed())


def test_nodes_that_are_not_shown_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    if HAS_NODE_CREATION_HOOK:
        monkeypatch.setattr("torch._C._autograd._push_node_creation_hook", lambda hook: None)
        monkeypatch.setattr("torch._C._autograd._pop_node_creation_hook", lambda: None)
    else:
        monkeypatch.setattr("torch._C.set_anomaly_enabled", lambda *_: None)
    assert "torch._C._autograd._push_node_creation_hook" in changed()


def test_trials_leave_torch_as_it_was() -> None:
    names = [lacks.there(part) for part in TABLE if not part.name.endswith("next_id")]
    before = [find(name) for name in names if name]
    assert changed() == set()
    assert [find(name) for name in names if name] == before
    assert (torch.is_anomaly_enabled(), torch.utils._python_dispatch._get_current_dispatch_mode_stack()) == (False, [])
    assert "setup_context" not in vars(type(torch.autograd.Function))


def test_quick_trials_are_not_seen_by_the_thread_that_asks() -> None:
    def next_number() -> int:
        node = torch.ones(1, requires_grad=True).exp().grad_fn
        assert node is not None
        return node._sequence_nr()

    before, handle = next_number(), torch.utils.hooks.RemovableHandle.next_id
    lacks.of_level("full")
    assert (next_number(), torch.utils.hooks.RemovableHandle.next_id) == (before + 1, handle)


def test_every_trial_is_in_the_table() -> None:
    tree = ast.parse(Path(trials.__file__).read_text())
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert named == {trial.run.__name__ for trial in trials.TRIALS.values()}
    assert trials.TRIALS.keys() <= PARTS.keys()


def test_recording_without_what_is_needed_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gradscope as library

    monkeypatch.delattr("torch.autograd.graph._register_logging_hooks_on_whole_graph")
    with pytest.raises(UsageError) as caught:
        library.record(tmp_path / "run.gscope")
    name = "torch.autograd.graph._register_logging_hooks_on_whole_graph"
    assert caught.value.sentence == f"torch {torch.__version__} has no {name}, without which nothing can be recorded"
    assert list(tmp_path.iterdir()) == []


def test_it_works_without_torch() -> None:
    run = python(f"{WITHOUT_TORCH}from gradscope.cli import main\nmain(['doctor'])")
    assert run.returncode == Exit.NOTHING_CHECKED, run.stderr
    assert "torch            not installed: recordings can be read, not made" in run.stdout
    assert "--detail ops     needs torch" in run.stdout


@pytest.mark.parametrize(
    "command", [["trace", "-c", "1"], ["debug", "-c", "1"], ["check-function", "x"], ["joint", "x:y"]]
)
def test_what_runs_something_needs_torch_and_says_so_in_one_sentence(command: list[str]) -> None:
    run = python(f"{WITHOUT_TORCH}from gradscope.cli import main\nimport sys\nsys.exit(main({command!r}))")
    assert (run.returncode, run.stdout) == (Exit.USAGE, "")
    assert run.stderr.startswith(
        "gradscope: torch is not installed here, and this needs it\n  hint: pip install torch; "
    )
    assert "Traceback" not in run.stderr


def private_names(path: Path) -> set[str]:
    """The dotted names of torch's private parts in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            if dotted.startswith("torch.") and any(part.startswith("_") for part in dotted.split(".")):
                found.add(dotted)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if any(re.match("_(?!_)", part) for part in name.split("."))}


def test_private_parts_of_torch_are_named_in_one_room() -> None:
    package = ROOT / "gradscope"
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] != "torch_internals"]
    found = {str(path.relative_to(package)): names for path in files if (names := private_names(path))}
    assert found == {
        "probes/graph/anomaly_mode.py": {
            "torch._C",
            "torch._C.set_anomaly_enabled",
        }  # public as torch.autograd.set_detect_anomaly
    }
