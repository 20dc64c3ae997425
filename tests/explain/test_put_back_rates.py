"""A rate that comes with a loaded state is told where all that follows is made with it, and it is as good as spent."""

import pytest

PROGRAM = '''"""Loads the state of an optimizer whose schedule has ended, and goes on."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
first = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.ExponentialLR(first, gamma=1e-5)
first.step()
schedule.step()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.load_state_dict(first.state_dict())
for step in range(30):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
'''
SILENT = {
    "a rate that was only lowered": ("gamma=1e-5", "gamma=1e-3"),
    "a rate set after it": ("for step", "optimizer.param_groups[0]['lr'] = 0.1\nfor step"),
    "a schedule after it": (
        "    optimizer.step()\n",
        "    optimizer.step()\n    follows.step()\n",
    ),
    "a few steps": ("range(30)", "range(5)"),
}


def findings(explained, tmp_path, *edit):
    script = tmp_path / "goes_on.py"
    text = PROGRAM.replace(*edit) if edit else PROGRAM
    if "follows" in text:
        text = text.replace("for step", "follows = torch.optim.lr_scheduler.StepLR(optimizer, 99)\nfor step")
    script.write_text(text)
    return [(one.code, one.site.line) for one in explained(script).findings]


def test_the_line_that_loads_it(explained, tmp_path):
    assert findings(explained, tmp_path) == [("GS805", 12)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_may_be_meant(explained, tmp_path, edit):
    assert findings(explained, tmp_path, *edit) == []
