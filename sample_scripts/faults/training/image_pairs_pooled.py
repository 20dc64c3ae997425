"""Two views of images, pooled and joined: a batch of one pair loses its own dimension as well."""

# as in https://github.com/SenZHANG-GitHub/ekf-imu-depth/pull/4
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
head = nn.Linear(16, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
first, second = torch.randn(13, 3, 8, 8), torch.randn(13, 3, 8, 8)
labels = torch.randint(4, (13,))
for _ in range(2):
    for start in range(0, len(labels), 4):
        part = slice(start, start + 4)
        views = [encoder(images[part]).squeeze() for images in (first, second)]  # expect: GS837
        logits = head(torch.cat(views, dim=1))  # expect: GS837 fails_at
        loss = nn.functional.cross_entropy(logits, labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
