"""What is put in the place of one of two tied weights is told where the two are two tensors since."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
WORDS = (FAULTS / "dialect_with_new_words.py").read_text()
CARDS = (FAULTS / "cards_with_given_vectors.py").read_text()
CHORDS = (FAULTS / "chords_drawn_anew.py").read_text()
LOOK = "    model.look.weight = nn.Parameter(vectors)"
GUESS = "    model.guess.weight = model.look.weight"
TABLE, OUT = "        self.out.weight = self.table.weight", "        self.out.weight = nn.Parameter(torch.randn"
SILENT = {
    "it is tied again": (WORDS, ("model.resize(WORDS + NEW)", "model.resize(WORDS)\nmodel.tie_weights()")),
    "it was never tied": (CARDS, (GUESS, "    if not model.training:\n        model.guess.weight = model.look.weight")),
    "it is tied later": (CARDS, (LOOK, f"{LOOK}\n    model.guess.weight = model.look.weight")),
    "another model is tied": (
        CARDS,
        (GUESS, "    model, tied = Cards(), model\n    tied.guess.weight = tied.look.weight"),
    ),
    "a model is made anew": (CARDS, (LOOK, f"    model = Cards()\n{LOOK}")),
    "the first is put in place before": (CARDS, (GUESS, f"{LOOK}\n{GUESS}"), (f"{LOOK}  #", "    pass  #")),
    "it is said to be apart": (
        CARDS,
        (LOOK, f"    # the scores are to have weights of their own: apart from here\n{LOOK}"),
    ),
    "it starts from the other": (CARDS, ("nn.Parameter(vectors)", "nn.Parameter(model.guess.weight.detach().clone())")),
    "it is filled": (CARDS, (LOOK, "    model.look.weight.data = vectors")),
    "it does not learn": (CARDS, ("nn.Parameter(vectors)", "nn.Parameter(vectors, requires_grad=False)")),
    "it is a choice": (CHORDS, (TABLE, f"        if width > 99:\n    {TABLE}")),
    "a head for other classes": (
        CHORDS.replace("song[:, 1:])", "song[:, 1:] % 4)"),
        ("nn.Parameter(torch.randn(self.out.weight.shape)", "nn.Parameter(torch.randn(4, 16)"),
        ("nn.init.zeros_(self.out.bias)", "self.out.bias = nn.Parameter(torch.zeros(4))"),
    ),
}
TOLD = {
    "the table is read from vectors": (
        CARDS,
        (
            "model.look.weight = nn.Parameter(vectors)",
            "model.look = nn.Embedding.from_pretrained(vectors, freeze=False)",
        ),
    ),
    "by setattr": (
        CARDS,
        ("model.look.weight = nn.Parameter(vectors)", 'setattr(model, "look", nn.Embedding(24, 10))'),
    ),
    "tied the other way": (CARDS, (GUESS, "    model.look.weight = model.guess.weight")),
}


def told(explained, tmp_path, case):
    program, *edits = case
    script = tmp_path / "program.py"
    script.write_text(edited(program, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS710"]


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_nothing_is_lost(case, explained, tmp_path):
    assert told(explained, tmp_path, case) == []


@pytest.mark.parametrize("case", TOLD.values(), ids=TOLD)
def test_what_takes_its_place_is_told(case, explained, tmp_path):
    (line,) = told(explained, tmp_path, case)
    assert "# expect: GS710" in line
