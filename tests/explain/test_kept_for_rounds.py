"""A value that one function makes and another line keeps for the next round is told at the line that keeps it."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "second_backward"
CHARGES = (FAULTS / "charges_that_wait.py").read_text()
MODEL, KEPT = "guess, charge = model(signal, charges.of(sensor))", "charges.keep(sensor, charge)"
MADE, STORE = "level = 0.9 * level + self.drive(signal)", "self.waiting[sensor] = charge"
TOLD = {
    "by keyword": (((KEPT, "charges.keep(sensor, charge=charge)"),), STORE),
    "under another name": (
        ((STORE, "now = charge * 1.0\n            self.waiting[sensor] = now"),),
        STORE[:-6] + "now",
    ),
    "on a line of the loop": (((KEPT, "charges.waiting[sensor] = charge"),), "charges.waiting[sensor] = charge"),
    "at once": (
        (("guess, charge = model", "guess, charges.waiting[sensor] = model"), (KEPT, "pass")),
        "guess, charges",
    ),
    "beside what is detached": (
        ((STORE, "self.waiting[sensor], self.seen = charge, 1\n            self.last = charge.detach()"),),
        "self.waiting[sensor], self.seen = charge, 1",
    ),
    "a function between them": (
        (
            ("class Charges:", "def told(model, *given):\n    return model(*given)\n\n\nclass Charges:"),
            ("= model(signal,", "= told(model, signal,"),
        ),
        STORE,
    ),
    "the backward in a function": (
        (
            ("def train(", "def step(loss):\n    loss.backward()\n\n\ndef train("),
            ("        loss.backward()\n        opt", "        step(loss)\n        opt"),
        ),
        STORE,
    ),
    "the variable itself goes on": (
        ((MODEL, "guess, charge = model(signal, charge if turn else None)"),),
        "guess, charge = model(signal, charge if turn",
    ),
    "two variables go on": (
        (
            (
                MODEL,
                "charge, guess = (charge, guess) if turn else (None, 0)\n        guess, charge = model(signal, charge)",
            ),
        ),
        "guess, charge = model(signal, charge)",
    ),
    "kept in two places": (((STORE, f"self.last = charge\n            {STORE}"),), MADE),
}


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_the_line_that_keeps_it(explained, tmp_path, edits, line):
    script = tmp_path / "charges.py"
    script.write_text(edited(CHARGES, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS712")
    assert found.site.source.startswith(line)


def test_one_of_several_that_are_made_alike_is_not_named(explained, tmp_path):
    script = tmp_path / "charges.py"
    both = "level, other = (each * 1.0 for each in (0.9 * level + self.drive(signal), signal))"
    script.write_text(edited(CHARGES, (MADE, both)))
    (found,) = (one for one in explained(script).findings if one.code == "GS712")
    assert found.tensor is None
