"""GS897: only what each evaluation switches off, whatever it finds, has been forgotten there."""

import pytest

PROGRAM = '''"""A dropout rests from the first evaluation on."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
data = torch.randn(32, 4)


def rest(layers):
    for layer in layers:
        if isinstance(layer, nn.Dropout):
            {rest}


@torch.no_grad()
def score():
    value = (model.eval()(data) - data.sum(1, keepdim=True)).square().mean()
    {measured}
    return value


def end_of_warm_up():
    {warm}
    return score()


for epoch in range(3):
    for some in data.split({size}):
        loss = (model.train()(some) - some.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {evaluate}
{end}
'''
FAULT = {
    "rest": "layer.p = 0.0",
    "measured": "rest(model.modules())",
    "warm": "pass",
    "size": "8",
    "evaluate": "score()",
    "end": "",
}
HEALTHY = {
    "where it is good": {"rest": "pass", "measured": "if value < 100:\n        model[1].p = 0.0"},
    "at the end of a phase": {
        "rest": "pass",
        "warm": "model[1].p = 0.0",
        "evaluate": "score() if epoch else end_of_warm_up()",
    },
    "by others as well": {"end": "rest(model.modules())"},
    "in the first steps": {"size": "32"},
}


def _codes(explained, tmp_path, changes):
    script = tmp_path / "rests.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    return [one.code for one in explained(script).findings]


def test_a_helper_of_the_evaluation_is_named(explained, tmp_path):
    assert _codes(explained, tmp_path, {}) == ["GS897"]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_what_may_be_meant_is_not_told(explained, tmp_path, changes):
    assert not _codes(explained, tmp_path, changes)
