"""A classifier makes its dropout in forward, where no eval() finds it."""

# as in https://github.com/yangze0930/NTS-Net/issues/14
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.drop = nn.Dropout(p=0.5)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        x = self.features(x)
        x = self.drop(x)
        return self.out(x)


torch.manual_seed(0)
images, labels = torch.randn(40, 1, 8, 8), torch.randint(0, 3, (40,))
model, loss_of = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _ in range(3):
    model.train()
    for x, y in zip(images[:32].split(8), labels[:32].split(8), strict=True):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(loss_of(model(images[32:]), labels[32:]).item())
