"""GS900 tells a gradient that is turned back unused; not one that something has used, seen or filled in between."""

import pytest

from gradscope.model.finding import Severity
from tests.edited import edited
from tests.explain.corpus import FAULTS

PURSUIT = (FAULTS / "training" / "pursuit_with_two_passes.py").read_text()
SUM, MOVE = "total += grad.square().sum()\n", 'p.add_(grad / (total.sqrt() + 1e-8), alpha=-group["lr"])\n'
INDENT = 16 * " "
TURN = "return p.grad.neg_() if"
LATER = "    optimizer.step()\n"
USED = {
    "its sum is taken": ((SUM, "total += grad.sum().square()\n"),),
    "it moves the parameter": ((SUM, SUM + INDENT + "p.add_(grad, alpha=-0.01)\n"),),
    "it is kept": ((SUM, SUM + INDENT + 'self.state[p]["last"] = grad.clone()\n'),),
    "the decay is added to it": ((SUM, SUM + INDENT + "grad.add_(p, alpha=0.01)\n"),),
    "it is given other values": ((SUM, SUM + INDENT + "p.grad.copy_(p)\n"),),
    "it is shown as plain numbers": ((SUM, SUM + INDENT + "print(grad.tolist())\n"),),
    "what is read behind is its size": ((MOVE, 'p.mul_(1 - group["lr"] * grad.norm().clamp(max=1))\n'),),
    "a new tensor is turned": ((TURN, "return -p.grad if"),),
    "a factor is on its line as well": ((TURN, "return p.grad.mul_(-1).mul_(0.5) if"), (SUM, "total += 1\n")),
    "each part once": ((TURN, "return p.grad[:1].neg_() if"),),
}
UNUSED = {
    "by a factor": ((TURN, "return p.grad.mul_(-1) if"),),
    "by way of data": ((TURN, "return p.grad.data.neg_() if"),),
    "scaled between": ((SUM, SUM + INDENT + "grad.mul_(0.5)\n"),),
    "its norm is taken": ((SUM, "total += grad.norm() ** 2\n"),),
}
ASIDE = "    for p in runner.parameters():\n        p.grad.neg_()\n"
OF_ITS_OWN = (
    (INDENT + "grad = self.directed(p, group)  # expect: GS900 modified_at\n" + INDENT + SUM, INDENT + "total += 1\n"),
    (LATER, ASIDE + LATER),
)


def told(explained, tmp_path, edits):
    script = tmp_path / "pursuit.py"
    script.write_text(edited(PURSUIT, *edits))
    return [one for one in explained(script).findings if one.code == "GS900"]


@pytest.mark.parametrize("edits", USED.values(), ids=USED)
def test_what_is_used_before_it_is_turned_back_is_not_told(explained, tmp_path, edits):
    assert not told(explained, tmp_path, edits)


@pytest.mark.parametrize("edits", UNUSED.values(), ids=UNUSED)
def test_it_is_told_however_it_is_turned(explained, tmp_path, edits):
    (found,) = told(explained, tmp_path, edits)
    assert found.severity is Severity.WARNING


def test_what_another_function_turns_is_a_hint(explained, tmp_path):
    (found,) = told(explained, tmp_path, OF_ITS_OWN)
    assert found.severity is Severity.INFO
