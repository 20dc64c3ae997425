"""A pretrained net's features are to rest while its head learns."""
# as in https://github.com/udacity/deep-learning-v2-pytorch/issues/12

import torch
from torch import nn

torch.manual_seed(0)
model = nn.ModuleDict({"features": nn.Sequential(nn.Linear(6, 12), nn.Tanh()), "head": nn.Linear(12, 3)})
for parameter in model["features"].parameters():
    parameter.require_grad = False  # expect: GS816
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(10):
    x = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(model["head"](model["features"](x)), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
