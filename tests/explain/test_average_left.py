"""GS898: only an average that is copied to be evaluated, again and again, has been left in the model."""

import pytest

PROGRAM = '''"""An average of the weights is evaluated from time to time."""

import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
average, served, best = (copy.deepcopy(model).requires_grad_(False) for _ in range(3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
data = torch.randn(16, 4)


def follow():
    for kept, p in zip(average.parameters(), model.parameters()):
        kept.data.mul_(0.9).add_(p.data, alpha=0.1)


@torch.no_grad()
def take(source, target, first=0):
    for at, (one, other) in enumerate(zip(source.parameters(), target.parameters())):
        if at >= first:
            other{data}.copy_(one{data})


def score(model):
    with torch.no_grad():
        return (model(data) - data.sum(1, keepdim=True)).square().mean()


for step in range(24):
    loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow()
    if {when}:
        live = {{name: value.clone() for name, value in model.state_dict().items()}}
        {do}
'''
FAULT = {"data": "", "when": "step % 8 == 7", "do": "take(average, model)\n        score(model)"}
SCORED = "take(average, model)\n        score(model)\n        "
FAULTS = {
    "by name": {},
    "by number": {"data": ".data"},
    "kept beside": {"do": f"{SCORED}kept = copy.deepcopy(model.state_dict())"},
    "the best kept": {"do": f"{SCORED}take(model, best)"},
    "the best kept by number": {"do": f"{SCORED}take(model, best)", "data": ".data"},
}
HEALTHY = {
    "one that takes its place": {"do": "take(average, served)\n        score(served)", "data": ".data"},
    "the best": {"do": "take(best, model)\n        score(model)"},
    "once": {"when": "step == 7"},
    "not evaluated": {"do": "take(average, model)"},
    "a part": {"do": "take(average, model, 2)\n        score(model)"},
    "replaced again": {"do": f"{SCORED}model.load_state_dict(live, assign=True)"},
    "copied back": {"do": f"best = copy.deepcopy(model)\n        {SCORED}take(best, model)", "data": ".data"},
    "kept and put back": {"do": f"{SCORED}take(model, best)\n        model.load_state_dict(live)"},
    "kept and copied back": {
        "do": f"best = copy.deepcopy(model)\n        {SCORED}take(model, served)\n        take(best, model)",
        "data": ".data",
    },
}


def _codes(explained, tmp_path, changes):
    script = tmp_path / "averages.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    return [one.code for one in explained(script).findings if one.code == "GS898"]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_an_average_that_is_left_is_told(explained, tmp_path, changes):
    assert _codes(explained, tmp_path, changes) == ["GS898"]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_what_is_no_average_or_does_not_stay_is_not(explained, tmp_path, changes):
    assert not _codes(explained, tmp_path, changes)


PUT = """def put(source, net):
    {alias}
    take(source, probe)
    return {back}


for step in range(24):"""
TAKEN = """    with torch.no_grad():
        for one, other in zip(source.parameters(), probe.parameters()):
            other.copy_(one)
"""
ALIASES = {
    "given back": ("probe = net", "probe", "probe = net"),
    "not given back": ("probe = net", "None", "put(average, model)"),
    "chosen": ("probe = net if step else model", "probe", "put(average, model)"),
    "named twice": ("probe = net\n    probe = probe.eval()", "probe", "put(average, model)"),
}


@pytest.mark.parametrize(("alias", "back", "line"), ALIASES.values(), ids=ALIASES)
def test_another_name_that_is_given_back_is_where_a_copy_is_to_be(explained, tmp_path, alias, back, line):
    script = tmp_path / "named.py"
    program = PROGRAM.format(**{**FAULT, "do": "put(average, model)\n        score(model)"})
    helper = PUT.format(alias=alias, back=back).replace("    take(source, probe)\n", TAKEN)
    script.write_text(program.replace("for step in range(24):", helper))
    assert [one.site.source for one in explained(script).findings if one.code == "GS898"] == [line]
