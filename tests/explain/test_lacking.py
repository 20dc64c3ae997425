"""What a recording had to do without is said by who reads it, and explain blames nobody for it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope
from gradscope.model.capabilities import CAPABILITIES, SILENCED
from gradscope.model.torch_part import Lack
from tests.capture.side_by_side import SideBySide
from tests.explain.corpus import FAULTS

SCRIPT = FAULTS / "no_gradient" / "detach_between_layers.py"


@pytest.fixture(scope="module")
def complete(nursery: SideBySide) -> Path:
    _, path = nursery.traced(SCRIPT.parent, SCRIPT)
    return path


def without(complete: Path, capability: str, folder: Path) -> Path:
    """The same recording, as if this capability had been off."""
    path = shutil.copy(complete, folder / "less.gscope")
    lack = Lack(capability, CAPABILITIES[capability].lost, "torch 0.0 has no such part")
    database = sqlite3.connect(path)
    database.execute("UPDATE run SET value = ? WHERE name = 'lacks'", [json.dumps([asdict(lack)])])
    database.commit()
    database.close()
    return path


def codes(path: Path) -> list[str]:
    result = CliRunner().invoke(gradscope, ["explain", str(path), "--fmt", "json", "-q"])
    return [one["code"] for one in json.loads(result.stdout)["findings"]]


def test_the_program_has_a_fault_that_is_found(complete: Path) -> None:
    assert "GS721" in codes(complete)


@pytest.mark.parametrize("capability", [name for name, silent in SILENCED.items() if "GS72" in silent])
def test_explain_claims_nothing_that_rests_on_what_was_off(complete: Path, tmp_path: Path, capability: str) -> None:
    assert "GS721" not in codes(without(complete, capability, tmp_path))


def test_explain_goes_on_with_what_does_not_rest_on_it(complete: Path, tmp_path: Path) -> None:
    assert "GS721" in codes(without(complete, "retain_grad", tmp_path))


@pytest.mark.parametrize("command", ["explain", "graph", "hooks", "replay"])
def test_a_command_that_reads_it_says_so(complete: Path, tmp_path: Path, command: str) -> None:
    result = CliRunner().invoke(gradscope, [command, str(without(complete, "operators", tmp_path))])
    said = "gradscope: in this recording operators are not recorded: torch 0.0 has no such part"
    assert said in result.stderr.splitlines()


def test_info_lists_it(complete: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(gradscope, ["info", str(without(complete, "operators", tmp_path))])
    assert "operators are not recorded" in result.stdout
