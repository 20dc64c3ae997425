"""Gradients that a step was to use are not told as thrown away where the run ended before that step."""

from tests.edited import edited

PROGRAM = '''"""Tones that one net makes and another judges."""

import torch
from torch import nn

torch.manual_seed(0)
maker, judge = nn.Linear(4, 8), nn.Linear(8, 1)
of_maker = torch.optim.SGD(maker.parameters(), 0.1)
of_judge = torch.optim.SGD(judge.parameters(), 0.1)
for step in range(3):
    of_maker.zero_grad()
    of_judge.zero_grad()
    tones = maker(torch.randn(5, 4))
    judge(tones).mean().backward(retain_graph=True)
    of_judge.step()
    (-judge(tones).mean()).backward()
    of_maker.step()
'''
ENDS = ("    (-judge(tones).mean()).backward()", "    (-judge(tones).mean()).backward()\n    raise RuntimeError(step)")
PUSHED = ("    (-judge(tones)", "    of_maker.zero_grad()\n    (-judge(tones)")


def told(explained, tmp_path, *edits):
    script = tmp_path / "tones.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.line for one in explained(script).findings if one.code == "GS781"]


def test_the_step_that_never_came_may_have_used_them(explained, tmp_path):
    assert told(explained, tmp_path, ENDS) == []


def test_what_is_cleared_is_thrown_away_however_the_run_ends(explained, tmp_path):
    assert told(explained, tmp_path, PUSHED, ENDS) == [14]
    assert told(explained, tmp_path, PUSHED) == [14, 17]
