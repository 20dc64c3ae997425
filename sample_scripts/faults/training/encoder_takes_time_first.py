"""An encoder layer takes time first and is given the batch first: each window attends to the others of its batch."""

# as in https://github.com/Exorust/TorchLeet/issues/5
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(3, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)  # expect: GS854
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x))[:, -1])  # expect: GS854 called_at


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(5):
    x, label = torch.randn(12, 7, 3), torch.randint(0, 4, (12,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), label).backward()
    optimizer.step()
