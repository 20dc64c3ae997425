"""A setting of an optimizer that bears the name of another one is hinted at; other names of it are not."""

from pathlib import Path

import pytest

SCRIPT = '''"""A line through points."""

from types import SimpleNamespace

import torch

settings = SimpleNamespace(lr=0.1, weight_decay=0.01, momentum=0.5, alpha=0.1, decay=0.01)
alpha, momentum, options = 0.1, 0.5, {"lr": 0.1, "weight_decay": 0.01}
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.MADE
for _ in range(3):
    optimizer.zero_grad()
    (model(torch.randn(4, 2)) - 1).square().mean().backward()
    optimizer.step()
'''
TOLD = {
    "its keyword": "SGD(model.parameters(), lr=settings.weight_decay)",
    "its place": "SGD(model.parameters(), momentum, weight_decay=0.1)",
    "of a table": 'Adam(model.parameters(), weight_decay=options["lr"])',
    "of a group": 'Adam([{"params": model.parameters(), "weight_decay": options["lr"]}])',
}
SILENT = {
    "its own": "SGD(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, momentum=momentum)",
    "a letter": "SGD(model.parameters(), lr=alpha, weight_decay=settings.alpha)",
    "a shorter name": "SGD(model.parameters(), 0.1, weight_decay=settings.decay)",
    "computed of it": "SGD(model.parameters(), lr=0.1, weight_decay=settings.lr * 0.1)",
    "a pair": "Adam(model.parameters(), lr=0.1, betas=(momentum, 0.999))",
    "all at once": "Adam(model.parameters(), **options)",
}


def _found(explained, path: Path, made: str) -> list[int]:
    script = path / "line.py"
    script.write_text(SCRIPT.replace("MADE", made))
    return [one.site.line for one in explained(script).findings if one.code == "GS800"]


@pytest.mark.parametrize("made", TOLD.values(), ids=list(TOLD))
def test_the_setting_of_another_is_told(explained, tmp_path, made):
    assert _found(explained, tmp_path, made) == [10]


@pytest.mark.parametrize("made", SILENT.values(), ids=list(SILENT))
def test_its_own_is_not(explained, tmp_path, made):
    assert _found(explained, tmp_path, made) == []
