"""`doctor` says what works, by trying it; and recording refuses in one sentence what cannot work."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from gradscope.model.seam import State, find

import gradscope.capture  # what tests take away was there when it was imported
from gradscope.cli import gradscope
from gradscope.commands.doctor import table
from gradscope.errors import Exit, UsageError
from gradscope.probes import seam_trials, seams

ROOT = Path(__file__).parent.parent.parent
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\nimport importlib.util as u; find = u.find_spec\n"
WITHOUT_TORCH += "u.find_spec = lambda name, *more: None if name == 'torch' else find(name, *more)\n"


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(gradscope, ["doctor", *arguments], standalone_mode=False)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_all_is_well_here() -> None:
    result = doctor()
    assert result.return_value == Exit.OK, result.stdout
    assert "--detail full    works\n" in result.stdout
    assert all(f"  {seam.name} " in result.stdout for seam in table())


def test_json_has_the_same() -> None:
    page = json.loads(doctor("--fmt", "json").stdout)
    assert (page["well"], page["torch"].split()[0]) == (True, torch.__version__)
    assert {one["name"]: one["state"] for one in page["seams"]} == {seam.name: "present" for seam in table()}
    assert page["details"] == {"nodes": [], "ops": [], "full": []}


def test_an_absent_part_is_named_with_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch.utils._python_dispatch.TorchDispatchMode")
    result = doctor()
    assert result.return_value == Exit.FINDINGS
    lines = result.stdout.splitlines()
    assert "--detail nodes   works" in lines
    assert "--detail ops     does not work: torch.utils._python_dispatch.TorchDispatchMode" in lines
    assert any("TorchDispatchMode " in line and " absent " in line for line in lines)


CHANGES = {
    "format_stack": ("torch._C.set_anomaly_enabled", lambda *_: None, "torch.fx.traceback.format_stack"),
    "anomaly": ("torch.is_anomaly_check_nan_enabled", lambda: True, "torch._C.set_anomaly_enabled"),
    "current_node": ("torch._C._current_autograd_node", lambda: None, "torch._C._current_autograd_node"),
    "level": ("torch._C._functorch.maybe_current_level", lambda: None, "torch._C._functorch.maybe_current_level"),
    "engine": ("torch.autograd._engine_run_backward", lambda *_, **__: (), "_engine_run_backward"),
    "modules": ("torch.nn.Module._wrapped_call_impl", len, "torch.nn.modules.module.Module._wrapped_call_impl"),
    "reducer": (
        "torch.nn.parallel.DistributedDataParallel._ddp_init_helper",
        lambda: None,
        "torch.distributed.Reducer",
    ),
    "collectives": ("torch.distributed.distributed_c10d.broadcast", len, "_rank_not_in_group"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_part_that_does_something_else_has_changed(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, instead, expected = CHANGES[change]
    monkeypatch.setattr(where, instead)
    found = {seam.name for seam in seams.SEAMS if seam.checked().state is State.CHANGED}
    assert any(name.endswith(expected) for name in found), found


def test_trials_leave_torch_as_it_was() -> None:
    before = [find(seam.name) for seam in seams.SEAMS]
    assert {seam.checked().state for seam in seams.SEAMS} == {State.PRESENT}
    assert [find(seam.name) for seam in seams.SEAMS] == before
    assert (torch.is_anomaly_enabled(), torch.utils._python_dispatch._get_current_dispatch_mode_stack()) == (False, [])


def test_every_trial_is_in_the_table() -> None:
    tree = ast.parse(Path(seam_trials.__file__).read_text())
    trials = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} - {"instead", "anomaly_on", "leaf"}
    table = Path(seams.__file__).read_text()
    assert [name for name in trials if f'_by_trial("{name}")' not in table] == []


def test_recording_without_a_part_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gradscope as library

    monkeypatch.delattr("torch._C._current_autograd_node")
    with pytest.raises(UsageError) as caught:
        library.record(tmp_path / "run.gscope")
    assert caught.value.sentence == (
        f"torch {torch.__version__} has no torch._C._current_autograd_node, which --detail ops needs"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["torch.utils._python_dispatch.TorchDispatchMode", "torch.fx.traceback.format_stack"])
def test_trace_needs_no_probe_to_refuse(name: str) -> None:
    owner, _, attribute = name.rpartition(".")
    code = f"import torch, {owner}\ndel {owner}.{attribute}\nfrom gradscope.cli import main\nmain(['trace', '-c', '1'])"
    run = python(code)
    assert run.returncode == Exit.USAGE
    assert run.stderr.startswith(
        f"gradscope: torch {torch.__version__} has no {name}, which --detail ops needs\n  hint: "
    )


def test_it_works_without_torch() -> None:
    run = python(f"{WITHOUT_TORCH}from gradscope.cli import main\nmain(['doctor'])")
    assert run.returncode == Exit.NOTHING_CHECKED, run.stderr
    assert "torch            not installed: recordings can be read, not made" in run.stdout
    assert "--detail ops     needs torch" in run.stdout


def private_names(path: Path) -> set[str]:
    """The dotted names of torch's private parts in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node).replace("(0)", "")
            if dotted.startswith("torch.") and any(part.startswith("_") for part in dotted.split(".")):
                found.add(dotted)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch._"):
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("room", ["probes", "compilers", "execution", "debugger"])
def test_every_private_part_that_a_room_names_is_in_the_table(room: str) -> None:
    known = [seam.name for seam in table()]
    for path in sorted((ROOT / "gradscope" / room).glob("*.py")):
        if path.name == "seam_trials.py":
            continue
        unknown = [
            name
            for name in private_names(path)
            if not name.startswith("torch.__")
            and not any(one.startswith(name) or name.startswith(one) for one in known)
        ]
        assert unknown == [], path.name
