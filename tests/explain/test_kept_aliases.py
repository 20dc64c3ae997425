"""GS830: only weights that were put aside without a copy, changed, and copied back onto themselves, are told."""

import pytest

PROGRAM = '''"""An average of the weights is evaluated in their place, and they are put back."""

import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
twin = nn.Sequential(nn.Linear(4, 4), model[1], model[2])
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(16, 4)


class Aside:
    def keep(self):
        {keep}

    def put_back(self):
        {back}


def take(targets, sources):
    for target, source in zip(targets, sources):
        {take}


aside = Aside()
{first}
for step in range(6):
    loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, p in zip(average.parameters(), model.parameters()):
            kept.lerp_(p, 0.1)
        if step % 3 == 2:
            {do}
'''
KEPT = "self.kept = [p.detach(){copy} for p in model.parameters()]"
FAULT = {
    "keep": KEPT.format(copy=""),
    "back": "take(model.parameters(), self.kept)",
    "take": "target.copy_(source)",
    "first": "",
    "do": "aside.keep()\n            take(model.parameters(), average.parameters())\n            aside.put_back()",
}
DATA = "self.kept = [p.data for p in model.parameters()]"
CHANGED = "aside.keep()\n            {}\n            aside.put_back()"
FAULTS = {
    "by detach": {},
    "of a list": {"back": "torch._foreach_copy_(list(model.parameters()), self.kept)"},
    "lists into lists": {
        "do": CHANGED.format("torch._foreach_copy_(list(model.parameters()), list(average.parameters()))"),
        "back": "torch._foreach_copy_(list(model.parameters()), self.kept)",
    },
    "by data": {"keep": DATA},
    "by data into data": {"keep": DATA, "take": "target.data.copy_(source)"},
    "into data": {"take": "target.data.copy_(source.data)"},
    "moved to where it is": {"keep": KEPT.format(copy=".cpu().float()")},
    "of a state": {
        "keep": "self.kept = model.state_dict()",
        "back": "for name, p in model.named_parameters():\n            p.copy_(self.kept[name])",
    },
    "loaded": {
        "keep": "self.kept = {name: p.detach() for name, p in model.named_parameters()}",
        "back": "model.load_state_dict(self.kept)",
    },
    "stepped": {"first": "aside.keep()", "do": "aside.put_back()"},
}
HEALTHY = {
    "a copy": {"keep": KEPT.format(copy=".clone()")},
    "another type": {"keep": KEPT.format(copy=".double()")},
    "not changed": {"do": "aside.keep()\n            aside.put_back()"},
    "changed by the name that is kept": {"do": CHANGED.format("take(aside.kept, average.parameters())")},
    "changed by its data": {
        "do": CHANGED.format("take(aside.kept, average.parameters())"),
        "take": "target.data.copy_(source)",
    },
    "data changed by its data": {
        "keep": DATA,
        "do": CHANGED.format("take(aside.kept, average.parameters())"),
        "take": "target.data.copy_(source)",
    },
    "masters stepped": {
        "first": "aside.keep()\nfor one in aside.kept:\n    one.requires_grad_(True)\n"
        "masters = torch.optim.SGD(aside.kept, lr=0.01)",
        "do": "for one, p in zip(aside.kept, model.parameters()):\n                one.grad = p.grad\n"
        "            masters.step()\n            aside.put_back()",
    },
    "layers that two share": {
        "do": "take(twin.parameters(), average.parameters())\n            take(twin.parameters(), model.parameters())"
    },
    "data of layers that two share": {
        "do": "take(twin.parameters(), average.parameters())\n            take(twin.parameters(), model.parameters())",
        "take": "target.data.copy_(source.data)",
    },
    "one network by two names": {
        "do": CHANGED.format("take(model.parameters(), average.parameters())"),
        "back": "take(model.parameters(), model.parameters())",
        "take": "target.data.copy_(source.data)",
    },
    "a part copied": {
        "keep": "self.kept = [p.detach() if p.dim() == 1 else p.detach().clone() for p in model.parameters()]"
    },
    "turned": {
        "keep": "self.kept = model[0].weight.t()",
        "back": "model[0].weight.copy_(self.kept)",
    },
    "other memory": {
        "do": CHANGED.format(
            "for one, p in zip(average.parameters(), model.parameters()):\n                p.data = one.clone()\n"
            "            for p in model.parameters():\n                p.mul_(1.0)"
        )
    },
    "moved between": {
        "do": CHANGED.format(
            "take(model.parameters(), average.parameters())\n            model.double()\n            model.float()"
        )
    },
    "data not changed": {"keep": DATA, "do": "aside.keep()\n            aside.put_back()"},
    "a list changed by the name that is kept": {
        "do": CHANGED.format(
            "take(model.parameters(), average.parameters())\n            torch._foreach_mul_(aside.kept, 0.9)"
        )
    },
}


def _found(explained, tmp_path, changes):
    script = tmp_path / "aside.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    lines = script.read_text().splitlines()
    return [lines[one.site.line - 1].strip() for one in explained(script).findings if one.code == "GS830"]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_weights_that_are_put_back_onto_themselves_are_told(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == [{**FAULT, **changes}["keep"].splitlines()[-1].strip()]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_what_is_restored_or_was_never_changed_is_not(explained, tmp_path, changes):
    assert not _found(explained, tmp_path, changes)
