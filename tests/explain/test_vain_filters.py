"""A filter by computed tensors is told where an optimizer steps what they are made of."""

from pathlib import Path

import pytest

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "isotopes_of_known_rate.py").read_text()
KNOWN = "known = {decay.mother.rate}"
SILENT = {
    "the property gives the parameter": ("return self.raw.exp()", "return self.raw"),
    "a call gives the parameter": ("return self.raw.exp()", "return next(self.parameters())"),
    "it is frozen as well": ("decay = Decay()", "decay = Decay()\ndecay.mother.requires_grad_(False)"),
    "one of several is a parameter": (KNOWN, "known = {decay.mother.rate, decay.mother.raw}"),
    "it is compared by value": (KNOWN, "known = [decay.mother.rate]"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "isotopes.py"
    assert not edit or edit[0] in PROGRAM
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [one.site.source for one in explained(script).findings if one.code == "GS813"]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_is_meant(edit, explained, tmp_path):
    assert told(explained, tmp_path, *edit) == []


@pytest.mark.parametrize("written", ["set([decay.mother.rate])", "frozenset((decay.mother.raw.data,))"])
def test_the_line_of_the_set(written, explained, tmp_path):
    (line,) = told(explained, tmp_path, "{decay.mother.rate}", written)
    assert line.startswith("known = ")
