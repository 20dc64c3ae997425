"""GS899: only a state that is stored and never begun anew, and goes far beyond what training derives, is told."""

import pytest

PROGRAM = '''"""A trained filter goes on."""

import torch
from torch import nn

cell = nn.GRUCell(1, 6)
optimizer = torch.optim.Adam(cell.parameters(), lr=0.01)
kept = {{"state": torch.zeros(1, 6)}}


def run(steps, series):
    for value in series[:steps]:
        kept["state"] = cell(value, kept["state"])


for _ in range({rounds}):
    run({unrolled}, torch.randn(60, 1, 1))
    optimizer.zero_grad()
    kept["state"].mean().backward()
    optimizer.step()
    kept["state"] = torch.zeros(1, 6)
run({steps}, torch.randn(400, 1, 1))
'''
FAULT = {"rounds": 2, "unrolled": 4, "steps": 100}
HEALTHY = {"few": {"steps": 24}, "as in training": {"unrolled": 60}, "never derived": {"rounds": 0, "steps": 400}}


def _told(explained, tmp_path, changes):
    script = tmp_path / "goes_on.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS899"]


def test_where_the_state_is_stored_is_named(explained, tmp_path):
    assert _told(explained, tmp_path, {}) == [("GS899", 13)]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_what_a_training_would_go_through_is_not(explained, tmp_path, changes):
    assert not _told(explained, tmp_path, changes)
