"""A constant that was made a parameter is told where its model is thawed, and not what was frozen for a while."""

from pathlib import Path

import pytest

PROGRAM = '''"""Rates of decay from the spectrum of a signal: the head is fitted first, then all of it."""

import torch
from torch import nn


class Filters(nn.Module):
    """A bank of windows."""

    def __init__(self, number, taps, given):
        super().__init__()
        self.bank = nn.Parameter(torch.hann_window(taps) * torch.randn(number, taps), requires_grad=False)

    def forward(self, signal):
        return nn.functional.relu(signal @ self.bank.T)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = Filters(12, 16, torch.randn(12, 16))
        self.mix = nn.Linear(12, 12)
        self.head = nn.Linear(12, 1)

    def forward(self, signal):
        return self.head(torch.tanh(self.mix(self.filters(signal)))).squeeze(-1)


def switch(module, learns):
    for parameter in module.parameters():
        parameter.requires_grad = learns


torch.manual_seed(0)
model = Model()
switch(model, False)
switch(model.head, True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(24):
    if step == 10:
        switch(model, True)
    signal = torch.randn(32, 16)
    loss = (model(signal) - signal[:, 0].abs()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
'''
MAKES = "self.bank = nn.Parameter(torch.hann_window(taps) * torch.randn(number, taps), requires_grad=False)"
THAWS = "        switch(model, True)\n"
LOOP = "    for parameter in module.parameters():\n        parameter.requires_grad = learns\n"
NAMED = "    for name, parameter in module.named_parameters():\n"
TOLD = {
    "by the module's own method": (THAWS, "        model.requires_grad_(True)\n"),
    "by position": ("requires_grad=False)", "False)"),
    "by the method of the tensor": (", requires_grad=False)", ").requires_grad_(False)"),
    "in a base": (
        "class Model(nn.Module)",
        "class Bank(Filters):\n    pass\n\n\nFilters = Bank\n\n\nclass Model(nn.Module)",
    ),
    "of all that has a name": (LOOP, NAMED + "        parameter.requires_grad = learns\n"),
    "joined in the forward": ("signal @ self.bank.T", "signal @ torch.cat([self.bank, self.bank])[:12].T"),
    "shown at the end": ("print(f", "print(model.filters.bank.norm())\nprint(f"),
}
SILENT = {
    "it is a buffer": (MAKES, 'self.register_buffer("bank", torch.randn(number, taps))'),
    "a thaw names it": (THAWS, THAWS + "        model.filters.bank.requires_grad_(True)\n"),
    "a thaw names its module": (THAWS, "        switch(model.filters, True)\n        switch(model.mix, True)\n"),
    "a thaw chooses": (LOOP, NAMED + '        parameter.requires_grad = learns or name.startswith("f")\n'),
    "a thaw asks first": (LOOP, NAMED + "        if name:\n            parameter.requires_grad = learns\n"),
    "a thaw asks for its kind": (
        LOOP,
        "    for part in module.modules():\n        if isinstance(part, Filters | nn.Linear):\n"
        "            for parameter in part.parameters():\n                parameter.requires_grad = learns\n",
    ),
    "a thaw is told its name": (THAWS, THAWS + '        model.get_parameter("filters.bank").requires_grad = True\n'),
    "a thaw goes over a list": (
        LOOP,
        "    ones = list(module.parameters())\n    for parameter in ones:\n        parameter.requires_grad = learns\n",
    ),
    "it has another name": (THAWS, "        bank = model.filters.bank\n" + THAWS),
    "it is in a group of its own": (
        "Adam(model.parameters()",
        'Adam([{"params": [model.filters.bank], "lr": 1e-3}, {"params": model.mix.parameters()},'
        ' {"params": model.head.parameters()}]',
    ),
    "no optimizer has it": (
        "Adam(model.parameters()",
        "Adam([*model.mix.parameters(), *model.head.parameters()]",
    ),
    "nothing else rested": ("switch(model, False)\nswitch(model.head, True)", "model.filters.requires_grad_(False)"),
    "it was handed over": (MAKES, "self.bank = nn.Parameter(given.clone(), requires_grad=False)"),
    "it is one value for all": (
        MAKES,
        "self.bank = nn.Parameter(torch.full((number, taps), 0.1), requires_grad=False)",
    ),
    "a setting decides": (MAKES, MAKES.replace("False", "number < 3")),
    "a branch decides": (MAKES, "if number:\n            " + MAKES),
    "it is made twice": (MAKES, MAKES + "\n        self.bank = nn.Parameter(torch.randn(number, taps), False)"),
    "it was frozen with the rest": (", requires_grad=False)", ")"),
    "a comment says that it is for now": (MAKES, "# held until the head is fitted\n        " + MAKES),
    "it is a weight": ("self.bank", "self.weight"),
    "it comes from another model": ("A bank of windows.", "A bank of windows, pretrained elsewhere."),
    "the program sets it": ("    optimizer.step()", "    optimizer.step()\n    model.filters.bank.data.mul_(1.0)"),
    "it is thawed before anything is trained": ("if step == 10", "if step == 0"),
}


def told(explained, tmp_path: Path, *edit: str) -> list[str]:
    script = tmp_path / "decays.py"
    assert not edit or edit[0] in PROGRAM
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    report = explained(script)
    assert report.unexplained is None
    return [one.site.source for one in report.findings if one.code == "GS766"]


def test_the_line_that_makes_it(explained, tmp_path):
    assert told(explained, tmp_path) == [MAKES]


@pytest.mark.parametrize("edit", TOLD.values(), ids=TOLD)
def test_other_ways(edit, explained, tmp_path):
    (line,) = told(explained, tmp_path, *edit)
    assert line.startswith("self.bank = ")


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_may_be_meant(edit, explained, tmp_path):
    assert told(explained, tmp_path, *edit) == []
