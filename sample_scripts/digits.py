"""Train a small residual network on scikit-learn's handwritten digits, with batch normalisation and a DataLoader."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 2
TRAIN = 512
TEST = 256


class Residual(nn.Module):
    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.stage1 = Residual(16, 16)
        self.stage2 = Residual(16, 32, stride=2)
        self.stage3 = Residual(32, 32)
        self.classifier = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stage3(self.stage2(self.stage1(self.stem(x))))
        return self.classifier(x.mean(dim=(2, 3)))


def load_data():
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels)
    train = TensorDataset(images[:TRAIN], labels[:TRAIN])
    test = TensorDataset(images[TRAIN : TRAIN + TEST], labels[TRAIN : TRAIN + TEST])
    return train, test


def evaluate(model, dataset):
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in DataLoader(dataset, batch_size=128):
            right += (model(images).argmax(dim=1) == labels).sum().item()
    return right / len(dataset)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train, test = load_data()
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(EPOCHS):
        model.train()
        for step, (images, labels) in enumerate(DataLoader(train, batch_size=32, shuffle=True)):
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 4 == 3:
                print(f"epoch {epoch} step {step} loss {loss.item():.6f}")
        print(f"epoch {epoch} accuracy {evaluate(model, test):.4f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
