"""A backward for the gradient of an input is told where the training adds to what it leaves in the weights."""

import pytest

from gradscope.model.finding import Severity
from tests.edited import edited

PROGRAM = '''"""Finds tumours in scans that are made harder by the slope of the loss."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
right = nn.functional.cross_entropy


def harder(scan, kind):
    moved = scan.clone().requires_grad_()
    right(model(moved), kind).backward()
    return (scan + 0.1 * moved.grad.sign()).clamp(-3, 3)


def train():
    for _ in range(12):
        scan, kind = torch.randn(5, 1, 8, 8), torch.randint(2, (5,))
        optimizer.zero_grad()
        scan = harder(scan, kind)
        loss = right(model(scan), kind)
        loss.backward()
        optimizer.step()
        print(loss.item())


train()
'''
LEAVES = "    right(model(moved), kind).backward()\n"
MOVED = """    gap = torch.zeros_like(scan, requires_grad=True)
    for _ in range(2):
        right(model(scan + gap), kind).backward()
        gap = (gap + 0.1 * gap.grad.sign()).detach().requires_grad_()
"""
NEXT = "    return (scan + 0.1 * moved.grad.sign()).clamp(-3, 3)\n"
IN_PLACE = """    gap = torch.empty_like(scan).uniform_(-0.1, 0.1).requires_grad_()
    for _ in range(4):
        right(model(scan + gap), kind).backward()
        with torch.no_grad():
            gap.add_(gap.grad.sign(), alpha=0.1).clamp_(-0.3, 0.3)
        gap.grad = None
"""
BY_DATA = """    gap = torch.zeros_like(scan, requires_grad=True)
    for _ in range(5):
        right(model(scan + gap), kind).backward()
        gap.data += 0.1 * gap.grad / gap.grad.abs().mean()
        gap.grad.zero_()
"""
CLEARS, HARDER = "        optimizer.zero_grad()\n", "        scan = harder(scan, kind)\n"
STEP = "        optimizer.step()\n"
SURE = {
    "once": ((), LEAVES),
    "after some steps": (((HARDER, "        if _ > 5: scan = harder(scan, kind)\n"),), LEAVES),
    "of a distance that is moved again and again": (
        ((LEAVES, MOVED), (NEXT, "    return (scan + gap).detach()\n"), ("        print(loss.item())\n", "")),
        "right(model(scan + gap), kind).backward()",
    ),
    "of a leaf that is moved in place": (
        ((LEAVES, IN_PLACE), (NEXT, "    return (scan + gap).detach()\n"), ("        print(loss.item())\n", "")),
        "right(model(scan + gap), kind).backward()",
    ),
    "of a leaf that is moved by its data, after some steps": (
        (
            (LEAVES, BY_DATA),
            (NEXT, "    return scan + gap.detach()\n"),
            (HARDER, "        if _ > 5: scan = harder(scan, kind)\n"),
        ),
        "right(model(scan + gap), kind).backward()",
    ),
    "cleared behind the step": (((CLEARS, ""), (STEP, f"{STEP}{CLEARS}")), LEAVES),
    "scaled for the training": ((("loss.backward()", "(2 * loss).backward()"),), LEAVES),
}
MEANT = {
    "its loss is looked at, scaled": (
        (LEAVES, "    first = right(model(moved), kind)\n    (8 * first).backward()\n    first.item()\n"),
    ),
    "its loss is looked at": (
        (LEAVES, "    first = right(model(moved), kind)\n    first.backward()\n    first.item()\n"),
    ),
    "in the training itself": (
        (
            HARDER,
            "        moved = scan.clone().requires_grad_()\n        right(model(moved), kind).backward()\n"
            "        scan = scan + 0.1 * moved.grad.sign()\n",
        ),
    ),
}
FREE = """        gap = torch.zeros_like(scan, requires_grad=True)
        for _ in range(3):
            loss = right(model(scan + gap), kind) / 3
            loss.backward()
            gap = (gap + 0.1 * gap.grad.sign()).detach().requires_grad_()
"""
OWN = "        loss = right(model(scan), kind)\n        loss.backward()\n"
SENT = """        code = model[:3](scan)
        cut = code.detach().requires_grad_()
        loss = right(model[3](cut), kind)
        loss.backward()
        code.backward(cut.grad)
"""
HEALTHY = {
    "sent on to the layers below": ((HARDER, ""), (OWN, SENT)),
    "cleared behind it": ((NEXT, f"    model.zero_grad()\n{NEXT}"),),
    "a leaf that is moved in place, cleared behind it": (
        (LEAVES, IN_PLACE),
        (NEXT, "    optimizer.zero_grad()\n    return (scan + gap).detach()\n"),
    ),
    "cleared after it": ((CLEARS + HARDER, HARDER + CLEARS),),
    "for the input alone": ((LEAVES, "    right(model(moved), kind).backward(inputs=[moved])\n"),),
    "by grad()": (
        (LEAVES, "    (slope,) = torch.autograd.grad(right(model(moved), kind), moved)\n"),
        ("moved.grad.sign()", "slope.sign()"),
    ),
    "the weights rest": ((LEAVES, f"    model.requires_grad_(False)\n{LEAVES}    model.requires_grad_(True)\n"),),
    "shown after the step": ((HARDER, ""), (STEP, f"{STEP}        harder(scan, kind)\n")),
    "two losses, both trained": (
        (HARDER, "        helped(scan, kind)\n"),
        (
            "def train():",
            "def helped(scan, kind):\n    right(model(scan.requires_grad_()) / 2, kind).backward()\n\n\ndef train():",
        ),
    ),
    "an input that is learned": (
        (HARDER, "        helped(scan, kind)\n"),
        (
            "def train():",
            "place = torch.zeros(1, 8, 8, requires_grad=True)\noptimizer.add_param_group({'params': [place]})\n\n\n"
            "def helped(scan, kind):\n    right(model(scan + place), kind).backward()\n\n\ndef train():",
        ),
        ("model(scan), kind)\n        loss", "model(scan + place), kind)\n        loss"),
    ),
    "each of the inputs trains": ((HARDER, ""), (OWN, FREE)),
    "what is found hard is stored for later": (
        (HARDER, ""),
        (STEP, f"{STEP}{CLEARS}        hard = harder(scan, kind)\n"),
    ),
    "slopes of the weights": (
        (LEAVES, f"{LEAVES}    rate = model[3].weight.grad.abs().max()\n"),
        (NEXT, "    return scan * rate\n"),
    ),
}


def told(explained, tmp_path, edits):
    script = tmp_path / "scans.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one for one in explained(script).findings if one.code == "GS849"]


@pytest.mark.parametrize(("edits", "line"), SURE.values(), ids=SURE)
def test_the_backward_for_the_input_is_named(explained, tmp_path, edits, line):
    found = told(explained, tmp_path, edits)
    assert [(one.severity, one.site.source) for one in found] == [(Severity.WARNING, line.strip())]


@pytest.mark.parametrize("edits", MEANT.values(), ids=MEANT)
def test_it_is_a_hint_where_both_losses_may_be_trained(explained, tmp_path, edits):
    assert [one.severity for one in told(explained, tmp_path, edits)] == [Severity.INFO]


@pytest.mark.parametrize("edits", HEALTHY.values(), ids=HEALTHY)
def test_nothing_is_told_where_nothing_is_left(explained, tmp_path, edits):
    assert told(explained, tmp_path, edits) == []
