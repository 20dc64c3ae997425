"""GS872: the train() that wakes a frozen part is named, or one behind the freeze, and else the line that freezes."""

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
    "without eval()": ({"after": ""}, "model.train()"),
    "eval() of another": ({"after": "other.eval()"}, "model.train()"),
    "eval() of it all": ({"after": "model.eval()"}, "model.train()"),
    "in a phase before": (
        {"before": f"encoder.eval()\nencoder(torch.randn(4, 4))\n{PRETRAINED}", "after": ""},
        "encoder.requires_grad_(False)",
    ),
    "by itself": ({"after": "encoder.eval()\nencoder.train()"}, "encoder.requires_grad_(False)"),
}

AT_REST = '''"""A small denoiser learns what a frozen listener hears in the clean sounds: that one is only asked."""

import torch
from torch import nn


def listener():
    heard = nn.Sequential(nn.Conv1d(1, 4, 5, padding=2), nn.BatchNorm1d(4), nn.ReLU())
    optimizer = torch.optim.SGD(heard.parameters(), lr=0.01)
    heard.train()
    for _ in range(3):
        optimizer.zero_grad()
        (heard(torch.randn(6, 1, 16)) - 0.5).square().mean().backward()
        optimizer.step()
    return heard


class Denoising(nn.Module):
    def __init__(self, heard):
        super().__init__()
        self.heard = heard.requires_grad_(False)
        self.clean = nn.Sequential(nn.Conv1d(1, 4, 5, padding=2), nn.ReLU())
        {rest}

    def forward(self, sound):
        with torch.no_grad():
            wanted = self.heard(sound)
        return (self.clean(sound + 0.1 * torch.randn_like(sound)) - wanted).square().mean()


def fit(model, rounds=3):
    optimizer = torch.optim.SGD(model.clean.parameters(), lr=0.01)
    for _ in range(rounds):
        {wake}
        for _ in range(3):
            loss = model(torch.randn(6, 1, 16))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {measure}


fit(Denoising(listener()))
'''
RESTING = {"rest": "self.heard.eval()", "wake": "model.train()", "measure": "pass"}
MEASURED = "model.eval(); model(torch.ones(6, 1, 16))"
MEANT = {  # without an eval() of its own that is undone
    "never rests": {"rest": "pass"},
    "is measured with the rest": {"rest": "pass", "measure": MEASURED},
    "is put to rest again": {"wake": "model.train().heard.eval()", "measure": MEASURED},
    "only the student wakes": {"wake": "model.clean.train()"},
    "is to follow the data": {"wake": "model.train(); model.heard.train()"},
}


def _found(explained, tmp_path, changes, program=PROGRAM, usual=CHANGES):
    script = tmp_path / "frozen.py"
    script.write_text(program.format(**{**usual, **changes}))
    return [one.site.source for one in explained(script).findings if one.code == "GS872"]


@pytest.mark.parametrize(("changes", "line"), NAMED.values(), ids=NAMED)
def test_the_line_to_edit_is_named(explained, tmp_path, changes, line):
    assert _found(explained, tmp_path, changes) == [line]


def test_a_part_that_is_put_to_rest_after_each_train_is_silent(explained, tmp_path):
    assert not _found(explained, tmp_path, {"first": "model.train()\n        encoder.eval()"})


@pytest.mark.parametrize("measure", ["pass", MEASURED])
def test_a_part_that_is_only_asked_is_woken_too(explained, tmp_path, measure):
    assert _found(explained, tmp_path, {"measure": measure}, AT_REST, RESTING) == ["model.train()"]


@pytest.mark.parametrize("changes", MEANT.values(), ids=MEANT)
def test_a_part_that_is_only_asked_may_be_awake(explained, tmp_path, changes):
    assert not _found(explained, tmp_path, changes, AT_REST, RESTING)
