"""Attention without a mask is told of the program's own model: another library's text is not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradscope.model.report import Report

MODEL = """
from torch import nn

class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(10, 16), nn.Linear(16, 10)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, letters):
        return self.head(self.layer(self.table(letters)))
"""
TRAINING = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / {folder!r}))

import torch
from letters import Letters

torch.manual_seed(0)
model = Letters()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(4):
    letters = torch.randint(10, (8, 12))
    loss = torch.nn.functional.cross_entropy(model(letters[:, :-1]).transpose(1, 2), letters[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("folder", "told"), [("own", True), ("site-packages", False)])
def test_only_of_a_model_whose_text_is_read(
    folder: str, told: bool, tmp_path: Path, explained: Callable[[Path], Report]
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "letters.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAINING.format(folder=folder))

    found = explained(tmp_path / "train.py").findings

    assert ("GS846" in {one.code for one in found}) is told
