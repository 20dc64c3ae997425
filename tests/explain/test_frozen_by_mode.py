"""A function that freezes by eval() alone is told where the optimizer's parameters are filtered, and nowhere else."""

import re
from pathlib import Path

import pytest

from tests.edited import edited

FAULT = Path(__file__).parent.parent.parent / "sample_scripts/faults/training/wingbeats_tuned_at_a_new_site.py"
INSECTS = re.sub("  # expect.*", "", FAULT.read_text())
NAME, CALL, REST = "def freeze_norms(", "trunk.freeze_norms()", "self.first_norm.eval()"
GIVEN = "[p for p in network.parameters() if p.requires_grad]"
MADE = "    optimizer = torch.optim.SGD([p"
TEACHER = "    network, teacher = nn.Sequential(Trunk(), nn.Linear(8, KINDS)), network\n    network.eval()\n"
ASKED = "loss = loss + nn.functional.mse_loss(network(wave), teacher(wave).detach())\n        optimizer.zero_grad()"
NEW = "        loss = nn.functional.cross_entropy(network(wave), kind)\n        optimizer.zero_grad()"
TOLD = {
    "a filter by a function": ((GIVEN, "filter(lambda p: p.requires_grad, network.parameters())"),),
    "groups": ((GIVEN, f'[{{"params": {GIVEN}, "lr": 0.01}}]'),),
    "a list with a name": ((f"torch.optim.SGD({GIVEN}", "torch.optim.SGD(kept"), (CALL, f"{CALL}\n    kept = {GIVEN}")),
    "by train(False)": ((REST, "self.first_norm.train(False)"),),
}
SILENT = {
    "in the name": ((NAME, "def freeze_norm_stats("), (CALL, "trunk.freeze_norm_stats()")),
    "in its words": ((NAME, f"# the running statistics, which few samples would spoil\n    {NAME}"),),
    "named after resting": ((NAME, "def rest_norms("), (CALL, "trunk.rest_norms()")),
    "no filter": ((GIVEN, "network.parameters()"),),
    "a filter for a count": ((GIVEN, "network.parameters()"), (CALL, f"{CALL}\n    print(len({GIVEN}) > 0)")),
    "made before": ((f"    {CALL}\n", ""), ("lr=0.02)\n", f"lr=0.02)\n    {CALL}\n")),
    "woken again": ((CALL, f"{CALL}\n    trunk.train()"),),
    "something else is frozen": ((CALL, f"{CALL}\n    network[1].bias.requires_grad = False"),),
    "a teacher of the same class": ((MADE, TEACHER + MADE),),
}


@pytest.mark.parametrize("edits", TOLD.values(), ids=TOLD)
def test_weights_that_a_filter_was_to_leave_out(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == ["GS813"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_what_may_be_meant(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == []


def told(explained, tmp_path, *edits):
    """What is found in the program with some lines changed; where a teacher is there, it is asked in each round."""
    program = edited(INSECTS, *edits)
    if "teacher" in program:
        at = program.rindex(NEW)
        program = program[:at] + NEW.replace("optimizer.zero_grad()", ASKED) + program[at + len(NEW) :]
    script = tmp_path / "insects.py"
    script.write_text(program)
    return [one.code for one in explained(script).findings]
