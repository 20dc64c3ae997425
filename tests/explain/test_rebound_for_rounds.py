"""A state that a loop receives under one name and reads under another is told at the line between both."""

import re
from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "second_backward"
TIDES = re.sub("  # expect.*", "", (FAULTS / "tides_between_windows.py").read_text())
HEAD, CALL, BOUND = "for turn, (window", "basin(window, water)", "    water = left\n"
REST = "    if turn < AT_REST:\n        water = basin.rest()\n"
MADE = "water = basin.rest()\nfor"
IN_A_FUNCTION = """def learn(turn, window, truth):
    global water
    levels, left = basin(window, basin.rest() if turn < AT_REST else water)
    loss = (levels - truth).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    water = left
    return loss


for turn, (window"""
LOOP = TIDES[TIDES.index(REST) : TIDES.index("    print(")]
STEP = """def learn(window, truth, water):
    levels, left = basin(window, water)
    loss = (levels - truth).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss, left


for turn, (window"""
TOLD = {
    "a tuple": (
        (
            (MADE, "water = (basin.rest(), 0)\nfor"),
            (REST, "    if turn < AT_REST:\n        water = (basin.rest(), turn)\n"),
            (CALL, "basin(window, water[0])"),
            (BOUND, "    water = (left, turn)\n"),
        ),
        "water = (left, turn)",
    ),
    "a pair of names": (
        ((BOUND, "    water, last = left, turn\n"),),
        "water, last = left, turn",
    ),
    "a dict": (
        (
            (MADE, "memory = {'water': basin.rest()}\nfor"),
            (REST, "    if turn < AT_REST:\n        memory['water'] = basin.rest()\n"),
            (CALL, "basin(window, memory['water'])"),
            (BOUND, "    memory['water'] = left\n"),
        ),
        "memory['water'] = left",
    ),
    "a dict made anew": (
        (
            (MADE, "memory = {'water': basin.rest()}\nfor"),
            (REST, "    if turn < AT_REST:\n        memory = {'water': basin.rest()}\n"),
            (CALL, "basin(window, memory['water'])"),
            (BOUND, "    memory = {'water': left}\n"),
        ),
        "memory = {'water': left}",
    ),
    "an attribute": (
        (
            (MADE, "basin.water = basin.rest()\nfor"),
            (REST, "    if turn < AT_REST:\n        basin.water = basin.rest()\n"),
            (CALL, "basin(window, basin.water)"),
            (BOUND, "    basin.water = left\n"),
        ),
        "basin.water = left",
    ),
    "a list": (
        (
            (MADE, "states = [basin.rest()]\nfor"),
            (REST, "    if turn < AT_REST:\n        states = [basin.rest()]\n"),
            (CALL, "basin(window, states[-1])"),
            (BOUND, "    states.append(left)\n"),
        ),
        "states.append(left)",
    ),
    "a global name": (((HEAD, IN_A_FUNCTION), (LOOP, "    loss = learn(turn, window, truth)\n")), "water = left"),
    "returned by a step": (
        ((HEAD, STEP), (LOOP, f"{REST}    loss, water = learn(window, truth, water)\n")),
        "loss, water = learn",
    ),
    "returned by a step, and named again": (
        ((HEAD, STEP), (LOOP, f"{REST}    loss, ended = learn(window, truth, water)\n    water = ended\n")),
        "water = ended",
    ),
    "by way of another name": (((BOUND, "    ended = left * 1.0\n    water = ended\n"),), "water = ended"),
    "beside what is detached": (
        (
            (CALL, "basin(window, water + 0 * seen.detach())"),
            ("water = basin.rest()\nfor", "seen = water = basin.rest()\nfor"),
            (BOUND, "    seen = left\n    water = left\n"),
        ),
        "water = left",
    ),
    "beside a total": (
        (
            ("water = basin.rest()\nfor", "total, water = 0, basin.rest()\nfor"),
            (BOUND, "    total = total + left.sum()\n    water = left\n"),
        ),
        "water = left",
    ),
    "the name goes on itself": (
        (("levels, left = ", "levels, water = "), (BOUND, "    left = water\n")),
        "levels, water = basin",
    ),
    "set in every round": (
        (
            (BOUND, ""),
            (REST, "    if turn < AT_REST:\n        water = basin.rest()\n    else:\n        water = left\n"),
        ),
        "levels, left = basin",
    ),
}


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_the_line_that_binds_what_the_next_round_reads(explained, tmp_path, edits, line):
    script = tmp_path / "tides.py"
    script.write_text(edited(TIDES, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS712")
    assert found.site.source.startswith(line)
