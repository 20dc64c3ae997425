"""A network that was trained on 20 classes is loaded to be tuned on 5."""
# as in https://github.com/moskomule/senet.pytorch/pull/73

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def train(model, classes, steps=6):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        labels = torch.randint(0, classes, (16,))
        pictures = torch.rand(16, 1, 8, 8) + labels[:, None, None, None] / classes
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    pretrained = Net(classes=20)
    print("pretraining", train(pretrained, 20))
    model = Net(classes=5)
    state = pretrained.state_dict()
    model.load_state_dict(state)  # expect: GS860
    print("tuning", train(model, 5))


if __name__ == "__main__":
    main()
