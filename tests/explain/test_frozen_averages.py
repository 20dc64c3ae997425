"""GS872: the train() that wakes a frozen part is named where it is known, and else the line that freezes."""

import pytest

PROGRAM = '''"""An encoder is frozen, and a head is trained above it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.encoder(x))


def fit(model, parameters{mode}, steps=8):
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for _ in range(steps):
        {first}
        loss = model(torch.randn(16, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 8), nn.BatchNorm1d(8))
other = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
{before}
model = Model(encoder)
encoder.requires_grad_(False)
{after}
fit(model, model.head.parameters(){given})
'''
CHANGES = {"first": "model.train()", "before": "", "after": "encoder.eval()", "mode": "", "given": ""}
PRETRAINED = "model = Model(encoder)\nfit(model, model.parameters())"
RESTED = "encoder.eval()\nmodel.eval()\nencoder.eval()"
GIVEN = "fit(model, model.head.parameters(), model)"  # for its mode only: where the mode is chosen
NAMED = {
    "at rest before": ({"after": RESTED}, "model.train()"),
    "of what was given for its mode": ({"mode": ", awake", "first": "awake.train()", "given": ", model"}, GIVEN),
    "of what was given for more": (
        {"mode": ", awake", "first": "awake.train(), awake.cpu()", "given": ", model"},
        "awake.train(), awake.cpu()",
    ),
    "after eval()": ({}, "model.train()"),
    "of a model that was trained": ({"before": PRETRAINED}, "model.train()"),
    "layer by layer": ({"after": "for layer in encoder:\n    layer.eval()", "before": PRETRAINED}, "model.train()"),
    "without eval()": ({"after": ""}, "encoder.requires_grad_(False)"),
    "eval() of another": ({"after": "other.eval()"}, "encoder.requires_grad_(False)"),
    "eval() of it all": ({"after": "model.eval()"}, "encoder.requires_grad_(False)"),
    "in a phase before": (
        {"before": f"encoder.eval()\nencoder(torch.randn(4, 4))\n{PRETRAINED}", "after": ""},
        "encoder.requires_grad_(False)",
    ),
    "by itself": ({"after": "encoder.eval()\nencoder.train()"}, "encoder.requires_grad_(False)"),
}


def _found(explained, tmp_path, changes):
    script = tmp_path / "frozen.py"
    script.write_text(PROGRAM.format(**{**CHANGES, **changes}))
    return [one.site.source for one in explained(script).findings if one.code == "GS872"]


@pytest.mark.parametrize(("changes", "line"), NAMED.values(), ids=NAMED)
def test_the_line_to_edit_is_named(explained, tmp_path, changes, line):
    assert _found(explained, tmp_path, changes) == [line]


def test_a_part_that_is_put_to_rest_after_each_train_is_silent(explained, tmp_path):
    assert not _found(explained, tmp_path, {"first": "model.train()\n        encoder.eval()"})
