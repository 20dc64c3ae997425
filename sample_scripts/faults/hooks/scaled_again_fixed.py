"""The encoder shall learn slower from the third epoch on (after facebookresearch/fairscale#1143)."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.ModuleDict({"encoder": nn.Linear(12, 16), "head": nn.Linear(16, 4)})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def scale_gradients(module, factor):
    for parameter in module.parameters():
        parameter.register_hook(lambda gradient: gradient * factor)


for epoch in range(9):
    if epoch == 3:
        scale_gradients(model["encoder"], 0.5)
    for _ in range(7):
        x = torch.randn(32, 12)
        loss = nn.functional.cross_entropy(model["head"](model["encoder"](x).relu()), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
