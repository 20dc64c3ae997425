"""Trainer class for a small CNN with a max_grad_norm option that does nothing.

It clips when the step has already been taken.

The order (step first, clip then) is the one in https://github.com/awslabs/graphstorm/pull/1382
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=192):
    x = torch.randn(n, 1, 12, 12) * 3
    y = (x[:, 0, :6].mean((1, 2)) > x[:, 0, 6:].mean((1, 2))).long()
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.fc = nn.Linear(8 * 36, 2)

    def forward(self, x):
        return self.fc(self.body(x))


class Trainer:
    def __init__(self, model, lr=0.05, max_grad_norm=0.5):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()
        self.max_grad_norm = max_grad_norm

    def train_step(self, x, y):
        loss = self.loss_fn(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        if self.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
        self.opt.step()
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            losses = [self.train_step(x, y) for x, y in loader]
            print("epoch", epoch, "loss %.4f" % (sum(losses) / len(losses)))


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    trainer = Trainer(Net())
    trainer.fit(loader, epochs=5)
