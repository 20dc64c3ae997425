"""A group of parameters that is written down and never read is told, where no optimizer holds what it names."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = '''"""Demand from days and weather, with a rate for each part."""

import torch
from torch import nn


class Demand(nn.Module):
    def __init__(self):
        super().__init__()
        self.days, self.weather, self.out = nn.Linear(3, 8), nn.Linear(2, 8), nn.Linear(16, 1)

    def forward(self, days, weather):
        return self.out(torch.cat([self.days(days), self.weather(weather)], 1).relu())


def groups_of(model, rate):
    groups = [{"params": model.days.parameters(), "lr": rate}]
    groups += [{"params": model.out.parameters(), "lr": rate}]
    weather = list(model.weather.parameters())
    group = [{"params": weather, "lr": rate / 2}]
    return groups


def train(model, steps):
    optimizer = torch.optim.Adam(groups_of(model, 1e-3))
    for _ in range(steps):
        days, weather = torch.randn(16, 3), torch.randn(16, 2)
        loss = (model(days, weather) - weather.sum(1, keepdim=True)).square().mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
train(Demand(), 20)
'''
GROUPS = (FAULTS / "brine_groups_put_together.py").read_text()
LIST, EACH = "    optimizer = torch.optim.SGD([pumps, salts]", '        each["momentum"] = 0.9\n'
LOST = "    group = [{"
TOLD = {
    "under another name": (),
    "the sum is thrown away": ((LOST, "    groups + [{"),),
    "the list is set anew": (
        ('groups = [{"params": model.days.parameters()', 'groups = [{"params": model.weather.parameters()'),
        ('groups += [{"params": model.out', 'groups = [{"params": model.out'),
        ('    group = [{"params": weather', '    groups += [{"params": model.days.parameters()'),
    ),
    "in a list that is only added to": (
        (LOST, "    more = []\n    more.append({"),
        ("rate / 2}]", "rate / 2})"),
    ),
    "as a dict by call": (('[{"params": weather, "lr": rate / 2}]', "dict(params=weather, lr=rate / 2)"),),
}
SILENT = {
    "it is added": ((LOST, "    groups += [{"),),
    "it is added by name": (("    return groups\n", "    return groups + group\n"),),
    "it is in a branch": ((LOST, "    if rate > 1:\n        group = [{"),),
    "it comes after the return": (("    weather = list(", "    if rate:\n        return groups\n    weather = list("),),
    "a function inside reads it": (
        ("    groups = [{", "    def told():\n        return group\n\n    groups = [{"),
        ("    return groups\n", "    print(told())\n    return groups\n"),
    ),
    "it is said that nobody reads it": ((LOST, "    _group = [{"),),
    "no gradient is wanted": (("    weather = list(", "    model.weather.requires_grad_(False)\n    weather = list("),),
    "it names what is held": (("list(model.weather.parameters())", "list(model.out.parameters())"),),
    "it names held and unheld": (
        ("list(model.weather.parameters())", "[*model.weather.parameters(), *model.out.parameters()]"),
    ),
    "a function that nobody calls": (
        (LOST, "\n\ndef more_groups(model, rate):\n    weather = model.weather\n    group = [{"),
        ("    return groups\n\n\ndef train", "\n\ndef train"),
        ("    weather = list(model.weather.parameters())\n", "    return groups\n"),
    ),
}


def told(explained, tmp_path, *edits):
    script = tmp_path / "demand.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS817"]


@pytest.mark.parametrize("edits", TOLD.values(), ids=TOLD)
def test_the_line_that_loses_the_group(explained, tmp_path, edits):
    (line,) = told(explained, tmp_path, *edits)
    assert any(part in line for part in ("rate / 2", "model.out"))


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_nothing_is_lost(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == []


TOLD_BESIDE = {
    "edited in a loop": (),
    "edited by itself": (("    for each in (pumps, membrane):\n" + EACH, '    membrane["lr"] *= 3\n'),),
    "edited by a method": (("    for each in (pumps, membrane):\n" + EACH, "    membrane.update(momentum=0.9)\n"),),
    "two loops": ((EACH, f"{EACH}    for each in [membrane, pumps]:\n{EACH}"),),
}
SILENT_BESIDE = {
    "it is given later": (
        (EACH, f"{EACH}    later = [membrane]\n"),
        ("    for step", "    optimizer.add_param_group(*later)\n    for step"),
    ),
    "the loop gives it": ((EACH, f"{EACH}        kept.append(each)\n"), ("    pumps =", "    kept = []\n    pumps =")),
    "the last of the loop is given": ((LIST, f"    print(each)\n{LIST}"),),
    "a function inside reads the last of the loop": (
        ("    pumps =", "    def told():\n        return each\n\n    pumps ="),
    ),
    "a setting chooses": ((LIST, f"    groups = [pumps, membrane] if rate > 1 else [pumps, salts]\n{LIST}"),),
    "another optimizer has it": ((LIST, f"    other = torch.optim.SGD([membrane], rate)\n{LIST}"),),
}


@pytest.mark.parametrize("edits", TOLD_BESIDE.values(), ids=TOLD_BESIDE)
def test_the_list_without_the_group(explained, tmp_path, edits):
    script = tmp_path / "brine.py"
    script.write_text(edited(GROUPS, *edits))
    (found,) = [one for one in explained(script).findings if one.code == "GS817"]
    assert found.site.source.startswith(LIST.strip())


@pytest.mark.parametrize("edits", SILENT_BESIDE.values(), ids=SILENT_BESIDE)
def test_a_group_that_something_reads(explained, tmp_path, edits):
    script = tmp_path / "brine.py"
    script.write_text(edited(GROUPS, *edits))
    assert not [one for one in explained(script).findings if "their group" in one.message]
