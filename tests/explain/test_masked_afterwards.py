"""Data with NaN that is masked behind a layer: the line that hands it over is named, and no other data's."""

import pytest

PROGRAM = '''"""Two kinds of data, of which one has gaps that only the mask behind takes out."""

import torch
from torch import nn

torch.manual_seed(0)
lift, gust, out = nn.Linear(4, 8), nn.Linear(3, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*lift.parameters(), *gust.parameters(), *out.parameters()])


def forward(x, wind):
    valid = ~torch.isnan(x).any(1, keepdim=True)
    codes = lift(torch.nan_to_num(x))
    codes = codes + gust(wind)
    codes = torch.where(valid, codes, 0.0)
    return out(codes)


for step in range(30):
    x, wind = torch.randn(32, 4), torch.randn(32, 3)
    if step >= 20:
        x[5:9] = wind[5:9] = float("nan")
    loss = forward(x, wind).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
CLEANED = "    codes = lift(torch.nan_to_num(x))\n"
EDITS = {
    "as it is": ((), 14),
    "cleaned by where": ((CLEANED, "    codes = lift(torch.where(valid, x, 0.0))\n"), 14),
    "cleaned in place": ((CLEANED, "    x.masked_fill_(~valid, 0.0)\n    codes = lift(x)\n"), 15),
    "neither is cleaned": ((CLEANED, "    codes = lift(x)\n"), 13),
    "masked on the line": (("gust(wind)\n", "torch.where(valid, gust(wind), 0.0)\n"), 14),
    "masked elsewhere": ((CLEANED, "    codes = lift(x)\n    codes = codes.masked_fill(~valid, 0.0)\n"), 13),
}


@pytest.mark.parametrize(("edit", "line"), EDITS.values(), ids=EDITS)
def test_the_line_that_hands_it_over(explained, tmp_path, edit, line):
    script = tmp_path / "gusts.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    first = explained(script).findings[0]
    assert (first.code, first.site.line, "masked afterwards" in first.message) == ("GS731", line, True)
