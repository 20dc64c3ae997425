"""Image classifier with NLL loss whose accuracy in validation changes with the batch size."""
# as in https://github.com/MicrosoftDocs/pytorchfundamentals/pull/21

import torch
from torch import nn


class GlyphNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()
        )
        self.classifier = nn.Linear(12 * 16, classes)
        self.activation = nn.LogSoftmax(dim=0)  # expect: GS843

    def forward(self, x):
        return self.activation(self.classifier(self.features(x)))


def glyphs(n, templates):
    y = torch.randint(0, len(templates), (n,))
    return templates[y] + 0.8 * torch.randn(n, 1, 8, 8), y


def train_one_epoch(model, loss_fn, optimizer, x, y, batch_size=25):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(batch_size):
        loss = loss_fn(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(x)


@torch.no_grad()
def accuracy(model, x, y, batch_size):
    model.eval()
    out = torch.cat([model(xb) for xb in x.split(batch_size)])
    return (out.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    templates = torch.randn(5, 1, 8, 8)
    x, y = glyphs(300, templates)
    val = glyphs(100, templates)
    model = GlyphNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(6):
        loss = train_one_epoch(model, nn.NLLLoss(), optimizer, x, y)
        big, single = accuracy(model, *val, 50), accuracy(model, *val, 1)
        print(f"epoch {epoch} loss {loss:.4f} accuracy {big:.2f}, one by one {single:.2f}")
