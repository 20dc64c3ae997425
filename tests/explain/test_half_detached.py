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


def _told(explained, tmp_path, edits):
    script = tmp_path / "melody.py"
    script.write_text(edited(MELODY, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS712")
    return found


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_the_line_that_detaches_the_other_part(explained, tmp_path, edits, line):
    assert _told(explained, tmp_path, edits).site.source.startswith(line)


def test_the_part_that_was_forgotten_is_named(explained, tmp_path):
    found = _told(explained, tmp_path, ())
    assert found.message.startswith("`cell` is not detached here")


@pytest.mark.parametrize("edits", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_carried_otherwise_is_told_elsewhere(explained, tmp_path, edits):
    assert "detach" not in _told(explained, tmp_path, edits).site.source
