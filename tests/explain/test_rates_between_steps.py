"""A rate of zero is told by the call that advances it beside an accumulating backward, where there is one."""

from pathlib import Path

import pytest

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "tides_of_gathered_batches.py").read_text()
SETS, CALLS = "            group[", "        descent.advance()"
SET_ELSEWHERE = {
    "it is advanced with the step": ("        descent.advance()", "            descent.advance(), descent.advance()"),
    "a batch may leave it out": (CALLS, "        if at % 2 == 0:\n            continue\n        descent.advance()"),
    "each step has one backward": ("GATHERED, EPOCHS = 4, 4", "GATHERED, EPOCHS = 1, 4"),
    "two lines advance it": (CALLS, "        descent.advance()\n        descent.advance()"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "tides.py"
    text = PROGRAM.replace(*edit) if edit else PROGRAM
    script.write_text(text.replace("self.updates, self.done = updates, 0", "self.updates, self.done = updates // 3, 0"))
    found = [one for one in explained(script).findings if one.code == "GS805"]
    return [script.read_text().splitlines()[one.site.line - 1] for one in found]


def test_the_call_in_the_loop(explained, tmp_path):
    (line,) = told(explained, tmp_path)
    assert line.startswith(CALLS)


@pytest.mark.parametrize("edit", SET_ELSEWHERE.values(), ids=SET_ELSEWHERE)
def test_else_the_line_that_sets_it(edit, explained, tmp_path):
    (line,) = told(explained, tmp_path, *edit)
    assert line.startswith(SETS)
