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
ELSEWHERE = """
import torch
from torch import nn


def scores_of(x):
    return (x * weight).sum(1, keepdim=True).squeeze()


def larger(x):
    return nn.functional.interpolate(x[None, None], scale_factor=2)


def joined(rows):
    return torch.cat([torch.zeros(2, 25), torch.zeros(2, 24)]) if rows > 2 else torch.zeros(rows, 1)


weight = torch.ones(3, requires_grad=True)
for rows in (1, 2, 3):
    (scores_of(torch.ones(4, 3)).sum() + larger(torch.ones(3, 3) * weight).sum()).backward()
    scores_of(torch.ones(4, 3)), larger(torch.ones(3, 3))
    {}
"""
NO_CHECKPOINT = """
import io

import torch

torch.ones(2, requires_grad=True).sum().backward()
torch.load(io.BytesIO(b"version https://git-lfs.github.com/spec/v1\\n"))
"""


def test_a_file_that_is_no_checkpoint_is_not_told_to_hold_objects(explained, tmp_path: Path) -> None:
    assert explained(written(tmp_path, NO_CHECKPOINT)).findings == ()


def test_what_another_function_makes_larger_is_not_blamed_for_what_fails_next(explained, tmp_path: Path) -> None:
    findings = explained(written(tmp_path, ELSEWHERE.format("joined(rows)"))).findings
    assert [one.code for one in findings] == ["GS867"]  # the line that failed, and no other


def test_what_is_squeezed_long_before_a_failure_is_not_blamed(explained, tmp_path: Path) -> None:
    fails = "table = sum(torch.ones(4) for _ in range(9)); table.sum(1 if rows == 3 else 0)"
    findings = explained(written(tmp_path, ELSEWHERE.format(fails))).findings
    assert [one.code for one in findings] == ["GS867"]


def written(folder: Path, text: str) -> Path:
    script = folder / "program.py"
    script.write_text(text, encoding="utf-8")
    return script


def test_a_division_in_a_closure_is_not_the_optimizers(explained, tmp_path: Path) -> None:
    first = explained(written(tmp_path, CLOSURE)).findings[0]
    assert (first.code, first.site.line) == ("GS730", CLOSURE[: CLOSURE.index("/ counts")].count("\n") + 1)
    assert "eps" not in first.message


def test_a_layer_of_the_same_name_that_is_called_excuses_none(explained, tmp_path: Path) -> None:
    (found,) = explained(written(tmp_path, FORGOTTEN)).findings
    assert (found.code, found.severity) == ("GS726", Severity.WARNING)


def test_a_head_that_other_code_calls_is_a_hint(explained) -> None:
    (found,) = explained(Path(__file__).parent / "healthy" / "head_of_another_task.py").findings
    assert (found.code, found.severity) == ("GS726", Severity.INFO)
