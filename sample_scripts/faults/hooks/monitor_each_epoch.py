"""How many units are silent is watched by forward hooks, which each epoch hangs on the layers once more."""

import torch
from torch import nn


class Monitor:
    def __init__(self):
        self.handles, self.shares = [], []

    def attach(self, model):
        self.handles = [
            layer.register_forward_hook(self.watch)  # expect: GS757
            for layer in model
            if isinstance(layer, nn.ReLU)
        ]

    def detach(self):
        for handle in self.handles:
            handle.remove()

    def watch(self, layer, inputs, output):
        self.shares.append((output.detach() == 0).float().mean().item())

    def report(self):
        share = sum(self.shares) / len(self.shares)
        self.shares.clear()
        return share


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
monitor = Monitor()
x = torch.randn(128, 6)
y = x.sum(1, keepdim=True)
for epoch in range(6):
    monitor.attach(model)
    for batch in torch.randperm(len(x)).split(32):
        loss = nn.functional.mse_loss(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, {monitor.report():.0%} silent")
