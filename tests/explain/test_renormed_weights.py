"""A lookup with max_norm edits its weight: GS701 names the line that read it before, unless the program edits it."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

READER = (FAULTS / "inplace" / "words_that_stay_short.py").read_text()
GUESS = "guesses.append(state @ self.words.weight.t())"
NAMED = "table = self.words.weight"
LOOKUP = "self.cell(self.words(word), state)"
OWN = "torch.embedding_renorm_(self.words.weight, word, 1.0, 2.0)"
TOLD = {
    "as an expression": ((), GUESS),
    "by a name": (((GUESS, f"{NAMED}\n            guesses.append(state @ table.t())"),), NAMED),
    "by a name of something else": (
        ((GUESS, "table = self.words.weight * 1.0\n            guesses.append(state @ self.words.weight.t())"),),
        GUESS,
    ),
    "the function": (
        ((LOOKUP, "self.cell(nn.functional.embedding(word, self.words.weight, max_norm=1.0), state)"),),
        GUESS,
    ),
    "by the program itself": (
        (
            (", max_norm=1.0)", ")"),
            (f"state = {LOOKUP}", f"with torch.no_grad():\n                {OWN}\n            state = {LOOKUP}"),
        ),
        OWN,
    ),
}


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_the_line_to_edit(explained, tmp_path, edits, line):
    script = tmp_path / "reader.py"
    script.write_text(edited(READER, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS701")
    assert found.site.source.startswith(line)
    assert ("weight.clone()" in (found.advice or "")) == (line is not TOLD["by the program itself"][1])


def test_a_weight_that_is_read_after_its_lookups_is_healthy(explained, tmp_path):
    script = tmp_path / "reader.py"
    later = (
        (f"            {GUESS}  # expect: GS701\n", ""),
        ("return torch.stack(guesses, 2)", "return torch.stack([state @ self.words.weight.t()] * text.shape[1], 2)"),
    )
    script.write_text(edited(READER, *later))
    assert not [one for one in explained(script).findings if one.code == "GS701"]
