"""A part of torch that is not there costs what it gives, said in a sentence, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradscope.errors import UsageError
from gradscope.model.capabilities import CAPABILITIES
from gradscope.model.torch_part import Part
from gradscope.torch_internals import lacks
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import PARTS, TABLE

HERE = Path(__file__).parent
RECORDING = [part for part in TABLE if CAPABILITIES[part.capability].detail and there(part) is not None]
DISPENSABLE = [part for part in RECORDING if not CAPABILITIES[part.capability].needed]
NEEDED = [part for part in RECORDING if CAPABILITIES[part.capability].needed and not part.refines]
OF_COMMANDS = [part for part in TABLE if not CAPABILITIES[part.capability].detail and there(part) is not None]
SOME = 8  # parts that one test takes away, one after another
Run = tuple[int, str, str]


def names_of(part: Part) -> list[str]:
    return [part.name, *part.variants]


def runs(parts: list[Part], folder: Path) -> dict[str, tuple[Run, Run]]:
    folder.mkdir()
    found = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "without.py", folder, "full"],
        input=json.dumps([names_of(part) for part in parts]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    answer: dict[str, tuple[Run, Run]] = json.loads(found.stdout)
    return answer


def ours(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("gradscope: ")]


def others(run: Run) -> list[str]:
    """The program's own words; of a traceback, whose first frames are those of what runs the program, the last line."""
    lines = [line for line in run[2].splitlines() if not line.startswith("gradscope: ")]
    return [line.partition(". Did you mean")[0] for line in (lines[-1:] if run[0] else lines)]


def wrong(part: Part, plain: Run, recorded: Run) -> list[str]:
    """What a recorded run without a part does that a plain one without it does not, and what it does not say."""
    found = []
    if recorded[0] != plain[0]:
        found.append(f"{part.name}: status {recorded[0]}, plain {plain[0]}: {recorded[2][-2000:]}")
    elif recorded[1] != plain[1]:
        found.append(f"{part.name}: other output: {recorded[1][-500:]} instead of {plain[1][-500:]}")
    if others(recorded) != others(plain):
        found.append(f"{part.name}: other words: {recorded[2][-2000:]} instead of {plain[2][-500:]}")
    lost = CAPABILITIES[part.capability].lost
    said = any(lost in line and ("has no" in line or "has another" in line) for line in ours(recorded[2]))
    if recorded[0] >= 0 and not part.refines and not said:  # without some parts torch waits for ever, recorded or not
        found.append(f"{part.name}: it is not said that {lost}: {ours(recorded[2])}")
    return found


@pytest.mark.parametrize("first", range(0, len(DISPENSABLE), SOME))
def test_a_run_without_a_part_is_as_a_plain_one_and_says_what_is_lost(first: int, tmp_path: Path) -> None:
    parts = DISPENSABLE[first : first + SOME]
    found = runs(parts, tmp_path / "runs")
    assert list(found) == [part.name for part in parts]
    offences = [text for part in parts for text in wrong(part, *found[part.name])]
    assert offences == [], "\n".join(offences)


def test_what_nothing_goes_without_is_refused_before_the_program_starts(tmp_path: Path) -> None:
    for name, (_, (status, out, err)) in runs(NEEDED, tmp_path / "a").items():
        assert (status, out) == (2, ""), name
        assert "Traceback" not in err
        assert "without which nothing can be recorded" in err, name


@pytest.mark.parametrize("part", OF_COMMANDS, ids=lambda part: part.name)
def test_a_command_that_needs_a_part_is_refused_in_a_sentence(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lacks, "there", lambda one: None if one is part else there(one))
    if part.refines:
        lacks.require(part.capability)
    else:
        with pytest.raises(UsageError) as caught:
            lacks.require(part.capability)
        assert caught.value.sentence.endswith(f"has no {part.name}, which this needs")


def test_each_part_is_in_the_table_once() -> None:
    assert len(PARTS) == len(TABLE)


def test_every_capability_has_a_part_and_every_part_a_capability() -> None:
    assert {part.capability for part in TABLE} == set(CAPABILITIES)
