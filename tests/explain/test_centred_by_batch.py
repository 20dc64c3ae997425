"""Parts of samples that are centred by the mean of all, and means that are meant."""

import pytest

PROGRAM = '''"""A dueling head."""

import torch

body, value, gain = torch.nn.Linear(3, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 4)
for _ in range(4):
    hidden = body(torch.randn(6, 3)).relu()
    whole, parts = value(hidden), gain(hidden)
    q = whole + parts - parts.mean()
    q.square().mean().backward()
'''
SILENT = {
    "each by itself": ("parts.mean()", "parts.mean(1, keepdim=True)"),
    "one sample": ("torch.randn(6, 3)", "torch.randn(1, 3)"),
    "the mean of others": ("parts.mean()", "(2 * parts).mean()"),
    "centred alone": ("whole + parts -", "parts -"),
    "the other has as many numbers": ("torch.nn.Linear(8, 1)", "torch.nn.Linear(8, 4)"),
    "a constant is added": ("whole + parts", "torch.ones(6, 1) + parts"),
    "the mean is added": ("- parts.mean()", "+ parts.mean()"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "dueling.py"
    assert not edit or edit[0] in PROGRAM
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS750"]


def test_the_line_that_takes_the_mean(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS750", 9)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_a_mean_that_is_meant(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
