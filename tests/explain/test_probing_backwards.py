"""A backward that looks at gradients now and then is told where the training adds to what it leaves."""

import pytest

from gradscope.model.finding import Severity

PROGRAM = '''"""Looks at gradients now and then."""

import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def look():
    model(torch.ones(1, 4)).sum().backward()
    {behind}


def train():
    for step in range(30):
        {extra}
        model(torch.randn(6, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % {every} == {every} - 1:
            look()


train()
'''
USUAL = {"behind": "pass", "extra": "pass", "every": 7}
SILENT = {
    "cleared": {"behind": "model.zero_grad()"},
    "in every step": {"every": 1},
    "once": {"every": 29},
}


def told(explained, tmp_path, **how):
    script = tmp_path / "looks.py"
    script.write_text(PROGRAM.format(**{**USUAL, **how}))
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS849"]


def test_the_backward_that_leaves_them(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS849", 10)]


@pytest.mark.parametrize("how", SILENT.values(), ids=SILENT)
def test_nothing_is_left_by_accident(explained, tmp_path, how):
    assert told(explained, tmp_path, **how) == []


def test_a_penalty_that_is_added_now_and_then_stands_where_the_loss_is(explained, tmp_path):
    penalty = "if step % 7 == 0: model.weight.square().sum().backward()"
    assert told(explained, tmp_path, every=31, extra=penalty) == []


@pytest.mark.parametrize(("times", "severity"), [("1.0", Severity.INFO), ("1e6", Severity.WARNING)])
def test_it_is_a_hint_unless_training_is_lost_since(explained, tmp_path, times, severity):
    script = tmp_path / "looks.py"
    script.write_text(PROGRAM.format(**USUAL).replace("torch.ones(1, 4)", f"{times} * torch.ones(1, 4)"))
    first = explained(script).findings[0]
    assert (first.code, first.severity) == ("GS849", severity)
