"""A difference of a sum and one of its parts is told where nothing else trains that part."""

import pytest

SCRIPT = '''"""A sample is a mean plus noise of a learned size."""

import torch

mean, spread = torch.nn.Linear(4, 2), torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([*mean.parameters(), spread], lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    center = mean(torch.randn(8, 4))
    sample = center + torch.randn(8, 2) * spread
    density = -((sample - center) / spread).square() - spread.log()
    loss = -density.sum(-1).mean()
    {also}
    loss.backward()
    optimizer.step()
'''
READ = {
    "nothing else": ("pass", [("GS722", 11)]),
    "without a graph": ("loss = loss * (sample.detach() - 1).square().mean()", [("GS722", 11)]),
    "a critic of the sample": ("loss = loss + (sample - 1).square().mean()", []),
    "a term of the mean": ("loss = loss + center.square().mean()", []),
}


@pytest.mark.parametrize(("also", "expected"), READ.values(), ids=list(READ))
def test_what_else_reads_them(explained, tmp_path, also, expected):
    script = tmp_path / "learns.py"
    script.write_text(SCRIPT.format(also=also))
    assert [(one.code, one.site.line) for one in explained(script).findings] == expected
