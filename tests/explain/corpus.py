"""The faults in sample_scripts/faults: a fault is a script, or a folder with a main.py, and has a repaired twin.

Comments mark the lines that must be named: `# expect: GS701` stands on the cause, `# expect: GS701 saved_at` on
another place of the same finding. The twin's name ends in `_fixed`, and nothing may be found in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.torch_versions import healthy_here

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults"
MARK = re.compile(r"#\s*expect:\s*(?P<code>GS\d{3})(?:\s+(?P<role>[a-z_]+))?")
FIXED = "_fixed"


@dataclass(frozen=True)
class Mark:
    """A line that a finding must name: as its site, or as a related place with this role."""

    code: str
    role: str | None
    file: str
    line: int


@dataclass(frozen=True)
class Fault:
    """A script that goes wrong, with the marks in its files."""

    name: str
    script: Path
    marks: tuple[Mark, ...]


def faults() -> list[Fault]:
    """Every fault, twins left out, and what this torch computes otherwise, so that nothing goes wrong."""
    scripts = [script for script in _scripts() if not _is_twin(script) and _name(script) not in healthy_here()]
    return [Fault(_name(script), script, tuple(_marks(script))) for script in scripts]


def twins() -> list[Path]:
    """Every repaired twin."""
    return [script for script in _scripts() if _is_twin(script)]


def twin_of(fault: Fault) -> Path:
    """Where a fault's twin must be."""
    if fault.script.name == "main.py":
        folder = fault.script.parent
        return folder.with_name(folder.name + FIXED) / "main.py"
    return fault.script.with_name(fault.script.stem + FIXED + ".py")


def _scripts() -> list[Path]:
    """The scripts to run: FAULTS/topic/name.py and FAULTS/topic/name/main.py."""
    return sorted([*FAULTS.glob("*/*.py"), *FAULTS.glob("*/*/main.py")])


def _name(script: Path) -> str:
    parts = script.relative_to(FAULTS).with_suffix("").parts
    return "/".join(part for part in parts if part != "main")


def _is_twin(script: Path) -> bool:
    return _name(script).endswith(FIXED)


def _marks(script: Path) -> list[Mark]:
    files = sorted(script.parent.glob("*.py")) if script.name == "main.py" else [script]
    return [
        Mark(found["code"], found["role"], str(file), number)
        for file in files
        for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for found in MARK.finditer(text)
    ]
