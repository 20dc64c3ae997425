"""What the last batches of a round leave to the next is told where the program sums it, each time."""

from pathlib import Path

import pytest

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "harvests_of_a_field.py").read_text()
SEASON = "    grower.season(plots)"
BY_HAND = "    for one in grower.network.parameters():\n        one.grad = None"
SILENT = {
    "they are cleared by hand": (SEASON, f"{SEASON}\n{BY_HAND}"),
    "the count goes on over the rounds": ("number % TOGETHER == 0", "len(seen) % TOGETHER == 0"),
    "each group is full": ("range(10)", "range(12)"),
    "rounds differ": (SEASON, "    grower.season(plots[: 10 - _])"),
    "one round leaves something": ("range(4)", "range(2)"),
}
COUNTED = ("            error = nn", "            seen.append(number)\n            error = nn")


def told(explained, tmp_path, *edit):
    script = tmp_path / "harvests.py"
    assert not edit or edit[0] in PROGRAM
    program = (
        (PROGRAM.replace(*edit) if edit else PROGRAM)
        .replace(*COUNTED)
        .replace("TOGETHER = 4", "TOGETHER = 4\nseen = []")
    )
    script.write_text(program)
    return [one.site.source for one in explained(script).findings if one.code == "GS801"]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_is_meant(edit, explained, tmp_path):
    assert told(explained, tmp_path, *edit) == []


def test_the_condition_is_named(explained, tmp_path):
    (line,) = told(explained, tmp_path)
    assert line.startswith("if number %")
