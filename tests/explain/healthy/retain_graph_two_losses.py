"""Two losses on a shared trunk, neither contains the other.

The first backward keeps the graph, the second adds its gradients, then one step.
"""

import torch
from torch import nn


class Shared(nn.Module):
    def __init__(self, d=20, h=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.recon = nn.Linear(h, d)
        self.label = nn.Linear(h, 3)

    def forward(self, x):
        z = self.trunk(x)
        return self.recon(z), self.label(z)


def train(model, x, y, steps=32):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        idx = torch.randint(0, len(x), (48,))
        xb, yb = x[idx], y[idx]
        rec, logits = model(xb)
        recon_loss = nn.functional.mse_loss(rec, xb)
        label_loss = nn.functional.cross_entropy(logits, yb)
        optimizer.zero_grad()
        recon_loss.backward(retain_graph=True)
        label_loss.backward()
        optimizer.step()
        if step % 8 == 7:
            print(f"step {step + 1} recon {recon_loss.item():.4f} label {label_loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    centers = 1.5 * torch.randn(3, 20)
    y = torch.randint(0, 3, (240,))
    x = centers[y] + 0.7 * torch.randn(240, 20)
    train(Shared(), x, y)
