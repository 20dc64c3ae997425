"""torch's own losses expand a column and a row to a square before they compare: that is told as a difference is."""

import pytest

COMPARES = '''"""A column of predictions, and targets as {shape}."""

import torch
from torch.nn import functional as F

net = torch.nn.Linear(3, 1)
for _ in range(4):
    prediction = net(torch.randn(8, 3))
    F.{loss}(prediction, torch.randn({shape})).backward()
'''
ROW, COLUMN = "8", "8, 1"


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize(("shape", "codes"), [(ROW, ["GS808"]), (COLUMN, [])])
def test_a_column_against_a_row(explained, tmp_path, loss, shape, codes):
    script = tmp_path / "compares.py"
    script.write_text(COMPARES.format(loss=loss, shape=shape))
    assert [one.code for one in explained(script).findings if one.code == "GS808"] == codes
