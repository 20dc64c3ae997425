"""Logits of an image are made rows once the classes come last."""

# as in https://github.com/fawazsammani/knowing-when-to-look-adaptive-attention/issues/6
import torch
from torch import nn

torch.manual_seed(0)
CLASSES = 5
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, CLASSES, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(5):
    image, label = torch.randn(2, 3, 6, 7), torch.randint(0, CLASSES, (2, 6, 7))
    logits = net(image).permute(0, 2, 3, 1).reshape(-1, CLASSES)
    loss = nn.functional.cross_entropy(logits, label.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
