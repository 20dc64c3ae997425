"""A loss that adds up over the passes of a loop is no way from one to the next, and whatever else goes on is one."""

import pytest

PROGRAM = '''"""A cell whose state is detached at each pass."""

import torch

cell, head = torch.nn.GRUCell(3, 8), torch.nn.Linear(8, 3)
for _ in range(3):
    state, total = torch.zeros(4, 8), torch.zeros(())
    readings = torch.randn(6, 4, 3)
    for now, then in zip(readings, readings[1:]):
        state = cell(now, state)
        total = total + (head(state) - then).square().mean()
        state = state.detach()
    total.backward()
'''
SILENT = {
    "the sum leads on": ("state = cell(now, state)", "state = cell(now, state) * total.exp()"),
    "the new sum leads on in its pass": (
        "state = state.detach()",
        "state = cell(now * total, state).detach()",
    ),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "passes.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS850"]


def test_a_loss_that_adds_up(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS850", 12)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_a_sum_that_leads_on(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
