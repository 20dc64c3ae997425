"""Small CNN on striped images whose loss comes down in stairs, one for each epoch, with bfloat16 mixed precision."""
# as in https://github.com/pytorch/pytorch/issues/120376

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

images = 0.3 * torch.randn(256, 1, 12, 12)
labels = torch.randint(0, 4, (256,))
for k in range(4):
    images[labels == k, :, :, 3 * k : 3 * k + 2] += 1.0

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(16 * 36, 4),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)

for epoch in range(5):
    perm = torch.randperm(256)
    losses = []
    with torch.autocast("cpu", torch.bfloat16):  # expect: GS825
        for idx in perm.split(32):
            optimizer.zero_grad()
            out = model(images[idx])
            loss = F.cross_entropy(out, labels[idx])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    print(f"epoch {epoch}: first batch {losses[0]:.3f} last batch {losses[-1]:.3f}")

with torch.no_grad():
    acc = (model(images).argmax(1) == labels).float().mean()
print(f"accuracy {acc:.3f}")
