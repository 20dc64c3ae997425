"""The best model is saved as it is and loaded for the test."""

# as in https://github.com/GET-Foundation/get_model/issues/23
import io

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
best, file = float("inf"), io.BytesIO()
for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best, file = loss.item(), io.BytesIO()
        torch.save(model, file)
file.seek(0)
model = torch.load(file)  # expect: GS859
model.eval()
print("tested", model(torch.randn(3, 4)).argmax(1).shape)
