"""Two parameters that are copies of one another are told where the program says that it ties them, and only there."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "sample_scripts/faults/training"
TELLS, COPIES = "    # The scores share the table of the lines.\n", "poem.follow.weight.data.copy_(poem.lines.weight)"
SAID = {
    "by the name of the function": [(TELLS, ""), ("finish", "tieTables")],
    "by a docstring": [(TELLS, '    """Ties what scores to what is looked up."""\n')],
    "of a copy under no_grad": [(COPIES, "with torch.no_grad():\n        # shared\n        " + COPIES)],
    "twice before the training": [("= finish(Poem())", "= finish(finish(Poem()))")],
}
SILENT = {
    "nothing says so": [(TELLS, "")],
    "it is for a start": [(TELLS, "    # The scores share the table of the lines at the start.\n")],
    "it is initialised": [("finish", "init_scores")],
    "it is tied again in each step": [("    optimizer.step()", "    optimizer.step()\n    finish(poem)")],
    "it is tied again each tenth step": [
        ("for _ in range(40)", "for at in range(40)"),
        ("    optimizer.step()", "    optimizer.step()\n    if at == 30:\n        finish(poem)"),
    ],
    "it is drawn anew": [("= finish(Poem())", "= finish(Poem())\nnn.init.normal_(poem.follow.weight)")],
    "a part of it is shared": [("nn.Linear(WIDTH, LINES, bias", "nn.Linear(WIDTH, LINES + 4, bias"),
                               ("weight.data.copy_", "weight.data[:LINES].copy_")],
    "it is of vectors from elsewhere": [(TELLS, f"    poem.lines.weight.data.copy_(VECTORS)\n{TELLS}"),
                                        ("\n\ndef finish", "\n\nVECTORS = torch.ones(LINES, WIDTH)\n\n\ndef finish")],
    "one of them rests": [(COPIES, f"{COPIES}\n    poem.follow.requires_grad_(False)")],
}  # fmt: skip


def codes(explained, tmp_path, edits):
    text = (FOLDER / "verses_with_one_table.py").read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    script = tmp_path / "poem.py"
    script.write_text(text)
    return [one.code for one in explained(script).findings]


@pytest.mark.parametrize("edits", SAID.values(), ids=SAID)
def test_a_copy_is_told_where_a_tie_is_spoken_of(explained, tmp_path, edits):
    assert codes(explained, tmp_path, edits) == ["GS707"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_a_copy_that_is_meant_gets_no_hint(explained, tmp_path, edits):
    assert "GS707" not in codes(explained, tmp_path, edits)
