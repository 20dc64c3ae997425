"""CNN with a second optimizer to give the head its own learning rate.

The first one already holds model.parameters(), so the head is stepped twice per batch.
"""

import torch
from torch import nn

torch.manual_seed(0)


class SmallCNN(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


# four colours of noise
labels = torch.randint(0, 4, (160,))
tint = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
images = 0.6 * tint[labels][:, :, None, None] + torch.randn(160, 3, 12, 12)

model = SmallCNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.backbone.parameters(), lr=2e-3)
head_optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)

for epoch in range(6):
    correct = 0
    for i in range(0, 160, 32):
        x, y = images[i : i + 32], labels[i : i + 32]
        optimizer.zero_grad()
        head_optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        head_optimizer.step()
        correct += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} train acc {correct / 160:.3f}")
