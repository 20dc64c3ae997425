"""A NaN that was put in is told where it is computed with, if the program asks for it; else where it came in."""

import pytest

TABLE = '''"""A column with a gap."""

import torch

column = torch.arange(6.0)
column[2] = float("nan")
{between}
scaled = column / 6.0
weight = torch.ones(6, requires_grad=True)
loss = (weight * scaled).sum()
loss.backward()
'''
PUT, COMPUTED = 6, 8
FOUND = {
    "nobody asks": ("known = column.mean()", PUT),
    "somebody asks": ("missing = column.isnan().sum()", COMPUTED),
    "somebody takes the others": ("known = column[column.isfinite()].mean()", COMPUTED),
}


@pytest.mark.parametrize(("between", "line"), FOUND.values(), ids=list(FOUND))
def test_missing_values(explained, tmp_path, between, line):
    script = tmp_path / "table.py"
    script.write_text(TABLE.format(between=between))
    finding = explained(script).findings[0]
    assert (finding.code, finding.site.line) == ("GS732", line)
