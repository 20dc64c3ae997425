"""A target that takes a loss to an actor by way of a slow copy of the critic is told, and nothing else is."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "heater_actor_in_target.py").read_text()
FOLLOWS = "behind.mul_(1 - TAU).add_(TAU * ahead)"
TARGET = "target = reward + 0.9 * worth"
ACTION = "actor(following)], dim=1))"
STEPPED = "Adam(actor.parameters()"
SILENT = {
    "what the actor does is a constant": [(ACTION, "actor(following).detach()], dim=1))")],
    "the fixed copy follows nothing": [(FOLLOWS, "pass")],
    "it follows something else": [(FOLLOWS, "behind.mul_(1 - TAU).add_(TAU * torch.rand_like(ahead))")],
    "nothing is added to what the copy gives": [(TARGET, "target = worth")],
    "no optimizer steps the actor": [(STEPPED, "Adam([torch.zeros(1, requires_grad=True)]")],
    "the actor's action is scored by a network of its own": [("worth = slow(", "worth = copy.deepcopy(slow)(")],
}
OTHER_FORMS = {
    "through .data": [(FOLLOWS, "behind.data.copy_((1 - TAU) * behind.data + TAU * ahead.data)")],
    "lerp_": [(FOLLOWS, "behind.lerp_(ahead, TAU)")],
    "a copy now and then": [(FOLLOWS, "behind.copy_(ahead)")],
}


def told(explained, tmp_path, edits):
    script = tmp_path / "heater.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS842"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_meant(edits, explained, tmp_path):
    assert told(explained, tmp_path, edits) == []


@pytest.mark.parametrize("edits", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_other_forms(edits, explained, tmp_path):
    (line,) = told(explained, tmp_path, edits)
    assert line.startswith("target = ")
