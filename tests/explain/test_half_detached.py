"""Where one part of a state is detached between two rounds and the part beside it is not, GS712 names that line."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

MELODY = (FAULTS / "second_backward" / "memory_beside_the_hidden.py").read_text()
DETACHES, RETURNS = "hidden = hidden.detach()  # expect: GS712", "    return hidden, cell\n"
CALL, MODEL = "memory = next_bar(memory)", "guesses, memory = model(tunes[:, at : at + BAR], memory)"
HELPER = MELODY[MELODY.index("def next_bar") : MELODY.index("def train")]
BOTH = "hidden, cell = hidden.detach(), cell.detach()"
TOLD = {
    "in what is returned": (
        ((DETACHES + "\n" + RETURNS, "return hidden.detach(), cell\n"),),
        "return hidden.detach(), cell",
    ),
    "taken apart by the loop itself": (
        (
            (MODEL, "guesses, (hidden, cell) = model(tunes[:, at : at + BAR], (hidden, cell))"),
            ("    memory = (torch", "    hidden, cell = (torch"),
            (CALL, "hidden = hidden.detach()"),
        ),
        "hidden = hidden.detach()",
    ),
    "by its places": (
        ((HELPER, "def next_bar(memory):\n    return memory[0].detach(), memory[1]\n\n\n"),),
        "return memory[0].detach(), memory[1]",
    ),
    "of each layer": (
        ((HELPER, "def next_bar(memory):\n    return [(h.detach(), c) for h, c in [memory]][0]\n\n\n"),),
        "return [(h.detach(), c) for h, c in [memory]]",
    ),
    "put into a list": (
        (
            (
                HELPER,
                "def next_bar(memory):\n    kept = []\n    for h, c in [memory]:\n"
                "        kept.append((h.detach(), c))\n    return kept[0]\n\n\n",
            ),
        ),
        "kept.append((h.detach(), c))",
    ),
    "handed to a function": ((("return hidden, cell", "return tuple(map(torch.clone, (hidden, cell)))"),), "hidden ="),
}
BASIN = (FAULTS / "second_backward" / "soil_beside_the_ground_water.py").read_text()
NEXT = "return replace(water, soil=water.soil.detach())  # expect: GS712"
AS_DICT = (
    ("return Water(soil, ground), seeped", 'return {"soil": soil, "ground": ground}, seeped'),
    ("water = Water(torch.ones(3), torch.ones(3))", 'water = {"soil": torch.ones(3), "ground": torch.ones(3)}'),
    ("* water.soil", '* water["soil"]'),
    ("soil = water.soil", 'soil = water["soil"]'),
    ("* water.ground", '* water["ground"]'),
    ("ground = water.ground", 'ground = water["ground"]'),
)
WHOLES = {
    "set in it": ((NEXT, "water.soil = water.soil.detach()\n    return water"),),
    "a named tuple": (
        ("@dataclass\nclass Water:", "from typing import NamedTuple\n\n\nclass Water(NamedTuple):"),
        (NEXT, "return water._replace(soil=water.soil.detach())"),
    ),
    "a dict": (*AS_DICT, (NEXT, 'return {**water, "soil": water["soil"].detach()}')),
    "joined dicts": (*AS_DICT, (NEXT, 'return water | {"soil": water["soil"].detach()}')),
}
OTHER_WHOLES = {
    "the other part is carried by another function": (
        (NEXT, "return Water(water.soil.detach(), water.ground.detach())"),
        ("water = next_week(water)", "kept = next_week(water)\n        seen = replace(kept, soil=kept.soil.detach())"),
    ),
    "the part that stays is detached": (
        (NEXT, "return replace(water, ground=water.ground.detach())"),
        ("return Water(soil, ground), seeped", "return Water(soil, ground), seeped + 0 * soil"),
        ("runoff.append(seeped)", "runoff.append(seeped)\n            self.last = water.ground"),
        ("def forward(self, rains, water):", "last = 0\n\n    def forward(self, rains, water):"),
        ("runoff = []", "runoff = [self.last + torch.zeros(3)][:0]\n        rains = rains + 0 * self.last"),
    ),
}
TOTAL = "loss = nn.functional.cross_entropy"
ELSEWHERE = {
    "the cell is detached after it": (
        ("return hidden, cell", "return hidden, cell.detach()"),
        ("    memory = (torch", "    loss = 0\n    memory = (torch"),
        (TOTAL, "loss = loss + nn.functional.cross_entropy"),
    ),
    "the halves of another tuple": (
        ("return hidden, cell", "return hidden, cell.detach()"),
        (
            "def train",
            "def told(two):\n    mean, last = two\n    mean = mean.detach()\n    return mean, last\n\n\ndef train",
        ),
        ("    memory = (torch", "    loss = 0\n    memory = (torch"),
        (TOTAL, "loss = loss + nn.functional.cross_entropy"),
        (CALL, CALL + "\n        seen = told((guesses.mean(), guesses.std()))"),
    ),
    "pairs of something else": (
        ("return hidden, cell", "return hidden, cell.detach()"),
        ("    memory = (torch", "    loss = 0\n    memory = (torch"),
        (TOTAL, "loss = loss + nn.functional.cross_entropy"),
        (CALL, CALL + "\n        seen = [(one.detach(), at) for one, at in [(guesses, at)]]"),
    ),
    "one that is only looked at": (
        (
            HELPER,
            "def next_bar(memory):\n    hidden, cell = memory\n    print(hidden.detach().norm())\n    return memory\n"
            "\n\n",
        ),
    ),
}


def _told(explained, tmp_path, edits, program=MELODY):
    script = tmp_path / "melody.py"
    script.write_text(edited(program, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS712")
    return found


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_the_line_that_detaches_the_other_part(explained, tmp_path, edits, line):
    assert _told(explained, tmp_path, edits).site.source.startswith(line)


@pytest.mark.parametrize("edits", WHOLES.values(), ids=WHOLES)
def test_the_line_that_makes_a_whole_anew_with_one_part_detached(explained, tmp_path, edits):
    found = _told(explained, tmp_path, edits, BASIN)
    assert found.site.source.startswith(edits[-1][1].split("\n")[0])


@pytest.mark.parametrize("edits", OTHER_WHOLES.values(), ids=OTHER_WHOLES)
def test_a_whole_of_something_else_is_not_named(explained, tmp_path, edits):
    assert "replace" not in _told(explained, tmp_path, edits, BASIN).site.source


def test_the_part_that_was_forgotten_is_named(explained, tmp_path):
    found = _told(explained, tmp_path, ())
    assert found.message.startswith("`cell` is not detached here")


@pytest.mark.parametrize("edits", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_carried_otherwise_is_told_elsewhere(explained, tmp_path, edits):
    assert "detach" not in _told(explained, tmp_path, edits).site.source
