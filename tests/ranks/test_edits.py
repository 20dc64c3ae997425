"""Two runs of programs that differ by one random edit: the line that is named is the edited one."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradscope.ranks.comparing.diff import compare
from gradscope.ranks.core.choice import Ignored
from gradscope.store.reader import load
from tests.ranks import programs

EACH = 3
EDITS = list(programs.edits(EACH))
MOVED = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recordings of the plain program, of every edit, and of programs in which only lines moved."""
    folder = tmp_path_factory.mktemp("edits")
    (folder / "plain.py").write_text("\n".join(programs.plain()) + "\n")
    (folder / "again.py").write_text("\n".join(programs.plain()) + "\n")
    for number in range(MOVED):
        (folder / f"moved{number}.py").write_text(programs.moved(number))
    for number, edit in enumerate(EDITS):
        (folder / f"edit{number}.py").write_text(edit.text)
    recorder = Path(__file__).parent / "record_all.py"
    subprocess.run([sys.executable, str(recorder), str(folder)], check=True, capture_output=True, cwd=folder)
    return folder


def compared(folder, name, **ignored):
    with load(folder / "plain.gscope") as first, load(folder / f"{name}.gscope") as second:
        return compare(first, second, Ignored(**ignored))


@pytest.mark.parametrize("number", range(len(EDITS)), ids=[f"{edit.kind}{n % EACH}" for n, edit in enumerate(EDITS)])
def test_the_edited_line_is_named(folder, number):
    found = compared(folder, f"edit{number}")
    assert not found.equal
    site = found.differences[0].site
    assert site is not None
    assert site.line in EDITS[number].lines


def test_a_second_run_of_the_same_is_equal(folder):
    assert compared(folder, "again").equal


@pytest.mark.parametrize("number", range(MOVED))
def test_lines_that_only_moved_are_no_difference(folder, number):
    found = compared(folder, f"moved{number}")
    assert found.edits
    assert found.equal
