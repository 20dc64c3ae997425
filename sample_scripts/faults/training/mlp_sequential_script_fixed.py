"""Flower-like 3-class MLP gets stuck at a loss of about 0.55.

The nn.Sequential ends with a Softmax and the loss is CrossEntropyLoss.

Same as https://github.com/vinhkhuc/PyTorch-Mini-Tutorials/issues/1
"""

import torch
from torch import nn

torch.manual_seed(0)

means = torch.tensor([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
target = torch.arange(3).repeat(50)
feat = means[target] + 0.3 * torch.randn(150, 4)
feat = (feat - feat.mean(0)) / feat.std(0)

model = nn.Sequential(
    nn.Linear(4, 16),
    nn.ReLU(),
    nn.Linear(16, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

for epoch in range(40):
    optimizer.zero_grad()
    output = model(feat)
    loss = criterion(output, target)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        pred = output.argmax(dim=1)
        acc = (pred == target).float().mean().item()
        print(f"Epoch {epoch + 1}: loss {loss.item():.4f}, acc {acc:.3f}")
