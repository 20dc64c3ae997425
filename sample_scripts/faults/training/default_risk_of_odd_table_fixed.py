"""A risk model over a table whose last batch holds one row: the logits of it have no dimension left."""

# as in https://github.com/facebookresearch/ParlAI/pull/783
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Risk(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.out = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


torch.manual_seed(0)
x = torch.randn(33, 6)
y = (x[:, 0] + x[:, 1] > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=8)
model, criterion = Risk(), nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(2):
    for inputs, labels in loader:
        loss = criterion(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
