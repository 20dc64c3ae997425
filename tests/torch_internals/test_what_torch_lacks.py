"""A part of torch that is not there costs what it gives, said in a sentence, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
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
Run = tuple[int, str, str]
Runs = Callable[[Part], tuple[Run, Run]]


def names_of(part: Part) -> list[str]:
    return [part.name, *part.variants]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """The plain and the recorded run of a program without a part, from one process that has imported torch."""
    command = [sys.executable, "-W", "ignore", str(HERE / "without.py"), str(tmp_path_factory.mktemp("runs")), "full"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        asks, answers = forking.stdin, forking.stdout

        def without(part: Part) -> tuple[Run, Run]:
            print(json.dumps(names_of(part)), file=asks, flush=True)
            (*plain,), (*recorded,) = json.loads(answers.readline())
            return tuple(plain), tuple(recorded)

        yield without
        asks.close()


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


@pytest.mark.parametrize("part", DISPENSABLE, ids=lambda part: part.name)
def test_a_run_without_a_part_is_as_a_plain_one_and_says_what_is_lost(part: Part, runs: Runs) -> None:
    offences = wrong(part, *runs(part))
    assert offences == [], "\n".join(offences)


@pytest.mark.parametrize("part", NEEDED, ids=lambda part: part.name)
def test_what_nothing_goes_without_is_refused_before_the_program_starts(part: Part, runs: Runs) -> None:
    _, (status, out, err) = runs(part)
    assert (status, out) == (2, "")
    assert "Traceback" not in err
    assert "without which nothing can be recorded" in err


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
