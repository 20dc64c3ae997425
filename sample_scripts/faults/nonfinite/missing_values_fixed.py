"""A table with a missing value, read as NaN; it turns up in the third batch."""

import io
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TABLE = """1.0,2.0,0.5
0.3,1.0,0.1
2.0,0.2,0.9
0.4,0.4,0.2
1.5,,0.7
0.1,0.3,0.1
"""


def read(file):
    rows = [[float(cell) if cell else float("nan") for cell in line.strip().split(",")] for line in file]
    rows = [row for row in rows if not any(map(math.isnan, row))]
    table = torch.tensor(rows)
    return TensorDataset(table[:, :2], table[:, 2:])


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(read(io.StringIO(TABLE)), batch_size=2):
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
