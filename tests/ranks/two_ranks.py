"""A process of each of two ranks that forks programs: all tests here share what each rank would import anew."""

import contextlib
from pathlib import Path

import pytest

from gradscope.model.choice import Choice
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings
from tests.capture.side_by_side import SKIP_END, SideBySide, finish, start

BEFOREHAND = ("torch._dynamo.convert_frame", "tests.capture.all_heard")
SCRIPT = "train.py"


class TwoRanks:
    """Not one process for both: each rank has a salt of its own, as it has where Python is started for it."""

    def __init__(self, folder: Path) -> None:
        folders = [folder / str(rank) for rank in range(2)]
        for one in folders:
            one.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("PYTHONHASHSEED", raising=False)
            self._ranks = [SideBySide(one, *BEFOREHAND, SKIP_END, OMP_NUM_THREADS="1") for one in folders]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for one in self._ranks:
            one.__exit__(*error)

    def found_in(self, folder, program):
        """What is found in the recordings of a program, which is given its rank; one of the two may be aborted."""
        (folder / SCRIPT).write_text(program)
        self.run(folder, SCRIPT)
        return found_in_recordings(folder)

    def run(self, folder, script, *arguments):
        """Run a script on both, with the rank as its last argument. Returns the two runs."""
        with self._both_or_none():
            asked = [
                (one, one.ask(folder, "--plain", script, *arguments, rank)) for rank, one in enumerate(self._ranks)
            ]
            return [one.answer(number) for one, number in asked]

    @contextlib.contextmanager
    def _both_or_none(self):
        try:
            yield
        except BaseException:  # what the other one answers later is no answer to the next question
            for one in self._ranks:
                one.renew()
            raise


def found_afresh(folder, program, **variables):
    """The same where Python is started for it, with more variables in its environment."""
    (folder / SCRIPT).write_text(program)
    for one in [start(folder, SCRIPT, rank, **variables) for rank in range(2)]:
        finish(one)
    return found_in_recordings(folder)


def found_in_recordings(folder):
    paths = sorted(folder.glob("*.gscope"))
    assert len(paths) == 2
    return findings(gather(paths), Choice())
