"""A recurrent layer over the samples of a batch is a hint where the sizes and what is taken of it say so."""

import pytest

PROGRAM = '''"""Classifies sequences by their last place."""

import torch

layer = torch.nn.LSTM(5, 8)
head = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    read, _ = layer(torch.randn(12, 7, 5))
    loss = torch.nn.functional.cross_entropy(head(read[:, -1]), torch.randint(0, 3, (12,)))
    loss.backward()
    optimizer.step()
'''
SILENT = {
    "built for it": (("(5, 8)", "(5, 8, batch_first=True)"),),
    "built by what is given": (("(5, 8)", "(5, 8, **{'batch_first': True})"),),
    "time comes first": (("read[:, -1]", "read[-1]"), ("(12,)", "(7,)")),
    "one sequence, labelled at each place": (("(12, 7, 5)", "(12, 1, 5)"),),
    "other samples": (("(head(read[:, -1]), ", "(head(read[:, -1])[:6], "), ("(12,)", "(6,)")),
    "as long as there are samples": (("(12, 7, 5)", "(12, 12, 5)"),),
}


def told(explained, tmp_path, *edits):
    text = PROGRAM
    for edit in edits:
        text = text.replace(*edit)
    script = tmp_path / "reads.py"
    script.write_text(text)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS854"]


def test_the_layer_that_takes_samples_for_time(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS854", 5)]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_may_be_right(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == []
