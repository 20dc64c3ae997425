"""Transfer learning with a new head: the loss hardly falls, whatever the learning rate.

The loop that freezes the backbone freezes the head, too, which is all that the optimizer was given.
"""

# as in https://discuss.pytorch.org/t/obtaining-abnormal-changes-in-loss-and-accuracy/84911
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.bn0 = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(torch.relu(self.bn0(self.conv(x))).mean((2, 3)))


torch.manual_seed(0)
model = Classifier(10)
optimizer = torch.optim.Adam(model.head.parameters(), lr=0.01)  # expect: GS823
for name, parameter in model.named_parameters():
    if "bn" not in name:
        parameter.requires_grad = False

x, y = torch.randn(320, 1, 12, 12), torch.randint(0, 10, (320,))
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    model.train()
    for first in range(0, 320, 64):
        optimizer.zero_grad()
        loss = criterion(model(x[first : first + 64]), y[first : first + 64])
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.4f}")
