"""A leaf that is filled in is told where it is made; one that is set or updated, where that is done."""

import pytest

PROGRAM = '''"""Fills a tensor in."""

import torch


def fill(x, weight):
    out = torch.zeros(3, requires_grad=True)
    {edit}
    return out


fill(torch.ones(3), torch.ones(3, requires_grad=True)).sum().backward()
'''
EDITS = {
    "with what is computed": ("out[0] = (x * weight).sum()", 7),
    "with a number": ("out[0] = 1.0", 8),
    "along a gradient": ("out[:] = out - (weight if weight.grad is None else weight.grad)", 8),
}


@pytest.mark.parametrize(("edit", "line"), EDITS.values(), ids=list(EDITS))
def test_the_line_to_edit(explained, tmp_path, edit, line):
    script = tmp_path / "fills.py"
    script.write_text(PROGRAM.format(edit=edit))
    found = explained(script).findings[0]
    assert (found.code, found.site.line) == ("GS703", line)
