"""GS831 and GS830 tell a follower that is the network itself, however it is written, and name the shallow copy."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

PROGRAM = (FAULTS / "training" / "follower_of_star_light.py").read_text()
COPY, FOLLOW = "copy.copy(network)  # expect: GS831", "slow.add_(self.pace * (fast - slow))  # expect: GS831 edited_at"
LOOP = PROGRAM[PROGRAM.index("        for slow, fast in") : PROGRAM.index("    @torch.no_grad()\n    def guess")]
LISTS = "        slow, fast = list(self.slow.parameters()), list(self.network.parameters())\n"
FORMS = {
    "a multiple is added": "slow.mul_(1 - self.pace).add_(self.pace * fast)",
    "what it lacks": "slow.add_(fast - slow, alpha=self.pace)",
    "away from it": "slow.sub_(self.pace * (slow - fast))",
    "a sum is copied": "slow.copy_((1 - self.pace) * slow + self.pace * fast)",
    "a way between is copied": "slow.copy_(torch.lerp(slow, fast, self.pace))",
    "through data": "slow.data.mul_(1 - self.pace).add_(fast.data, alpha=self.pace)",
}
WHOLE = {
    "lists": LISTS + "        torch._foreach_lerp_(slow, fast, self.pace)\n\n",
    "scaled lists": LISTS
    + "        torch._foreach_mul_(slow, 1 - self.pace)\n        torch._foreach_add_(slow, fast, alpha=self.pace)\n\n",
    "loaded": "        self.slow.load_state_dict(self.network.state_dict())\n\n",
}
HEALTHY = {
    "a snapshot is mixed in": (
        (COPY, "[one.detach().clone() for one in network.parameters()]"),
        (FOLLOW, "fast.mul_(0.5).add_(0.5 * slow)\n            slow.copy_(fast)"),
        ("self.slow.parameters()", "self.slow"),
        ("self.slow(curves)", "self.network(curves)"),
    ),
    "half of it as it was before the step": (
        (COPY, "[0.5 * one.detach() for one in network.parameters()]"),
        (FOLLOW, "fast.mul_(0.5).add_(slow)"),
        ("self.slow.parameters()", "self.slow"),
        ("self.slow(curves)", "self.network(curves)"),
    ),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "stars.py"
    script.write_text(edited(PROGRAM, *edits))
    return explained(script).findings


@pytest.mark.parametrize(
    "edit", [*((FOLLOW, one) for one in FORMS.values()), *((LOOP, one) for one in WHOLE.values())], ids=[*FORMS, *WHOLE]
)
def test_a_follower_that_is_the_network_is_told_at_the_copy(explained, tmp_path, edit):
    (found,) = _told(explained, tmp_path, [edit])
    assert (found.code in ("GS830", "GS831"), found.site.source.split("#")[0].strip()) == (
        True,
        "self.slow = copy.copy(network)",
    )


@pytest.mark.parametrize("form", [*FORMS.values()], ids=FORMS)
def test_a_follower_of_its_own_is_not(explained, tmp_path, form):
    assert not _told(explained, tmp_path, [(FOLLOW, form), (COPY, "copy.deepcopy(network)")])


@pytest.mark.parametrize("edits", HEALTHY.values(), ids=HEALTHY)
def test_a_snapshot_is_another_thing(explained, tmp_path, edits):
    assert not _told(explained, tmp_path, edits)
