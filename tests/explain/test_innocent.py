"""What stands near a fault and is not to blame for it."""

from pathlib import Path

from gradscope.model.finding import Severity

CLOSURE = """
import torch

weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.1)


def closure():
    optimizer.zero_grad()
    counts = torch.zeros(())
    loss = (weight * 2).sum() / counts
    loss.backward()
    return loss


for _ in range(3):
    optimizer.step(closure)
"""
FORGOTTEN = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        return self.out(self.norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.norm, self.head = Block(), nn.LayerNorm(4), nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.block(x))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_division_in_a_closure_is_not_the_optimizers(explained, tmp_path: Path) -> None:
    script = tmp_path / "closure.py"
    script.write_text(CLOSURE, encoding="utf-8")
    first = explained(script).findings[0]
    assert (first.code, first.site.line) == ("GS730", CLOSURE[: CLOSURE.index("/ counts")].count("\n") + 1)
    assert "eps" not in first.message


def test_a_layer_of_the_same_name_that_is_called_excuses_none(explained, tmp_path: Path) -> None:
    script = tmp_path / "forgotten.py"
    script.write_text(FORGOTTEN, encoding="utf-8")
    (found,) = explained(script).findings
    assert (found.code, found.severity) == ("GS726", Severity.WARNING)


def test_a_head_that_other_code_calls_is_a_hint(explained) -> None:
    (found,) = explained(Path(__file__).parent / "healthy" / "head_of_another_task.py").findings
    assert (found.code, found.severity) == ("GS726", Severity.INFO)
