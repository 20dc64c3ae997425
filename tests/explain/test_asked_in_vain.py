"""None for all that autograd.grad is asked for is told where a line gets nothing else."""

import pytest

ASKS = '''"""Derivatives by a part that was taken later, of which some may be unused."""

import torch

x = torch.ones(3, requires_grad=True)
for number in range({calls}):
    y = (x * 2).sum()
    asked = x if number in {whole} else x[:2]
    torch.autograd.grad(y, asked, allow_unused=True)
'''
FOUND = {
    "nothing ever": (6, (), ["GS729"]),
    "a few times": (3, (), []),
    "something once": (6, (4,), []),
}


@pytest.mark.parametrize(("calls", "whole", "codes"), FOUND.values(), ids=list(FOUND))
def test_a_line_that_asks_in_vain(explained, tmp_path, calls, whole, codes):
    script = tmp_path / "asks.py"
    script.write_text(ASKS.format(calls=calls, whole=whole))
    assert [one.code for one in explained(script).findings if one.code == "GS729"] == codes


UNRELATED = '''"""Derivatives that are zero by design, and asked for all the same."""

import torch

x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
for _ in range(6):
    spare = (other * 3).sum()
    torch.autograd.grad((x * 2).sum(), other, allow_unused=True)
    spare.backward()
'''


def test_what_was_never_a_part_may_be_asked_for(explained, tmp_path):
    script = tmp_path / "asks.py"
    script.write_text(UNRELATED)
    assert "GS729" not in [one.code for one in explained(script).findings]
