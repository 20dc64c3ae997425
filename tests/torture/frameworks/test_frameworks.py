"""Frameworks run the same with and without gradscope. `make test-frameworks` installs them apart and runs this."""

from pathlib import Path

import pytest

from tests.capture.side_by_side import TORCHRUN, finish, start
from tests.torture.compare import DETAILS, assert_same, assert_sound, programs

PROGRAMS = programs(Path(__file__).parent / "programs")
MINUTES = 5  # for one run: the frameworks take half a minute to import on a busy machine


def is_distributed(program):
    return "# ranks: 2" in program.read_text()


def texts(folder):
    """What the ranks have written."""
    return {path.name: path.read_text() for path in sorted(folder.glob("rank*.txt"))}


@pytest.mark.timeout(5 * 60 * MINUTES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_is_the_same_when_recorded(program, tmp_path):
    launcher = TORCHRUN if is_distributed(program) else ()
    folders = {detail: tmp_path / detail for detail in ("plain", *DETAILS)}
    for folder in folders.values():
        folder.mkdir()
    plain = finish(start(folders["plain"], *launcher, program, OMP_NUM_THREADS="1"), 60 * MINUTES)
    assert plain.status == 0, plain.stderr
    for detail in DETAILS:
        folder = folders[detail]
        trace = ("-m", "gradscope", "trace", "--detail", detail, program)
        traced = finish(start(folder, *launcher, *trace, OMP_NUM_THREADS="1", GRADSCOPE_DIR=str(folder)), 60 * MINUTES)
        if launcher:
            assert (texts(folder), traced.stdout, traced.status) == (texts(folders["plain"]), plain.stdout, 0), traced
        else:
            assert_same(plain, traced, detail)
        recordings = sorted(folder.glob("*.gscope"))
        assert len(recordings) == (2 if launcher else 1)
        for recording in recordings:
            assert_sound(recording)
