"""A classifier whose backbone joins the optimizer in the third epoch is resumed after that."""
# as in https://github.com/STVIR/pysot/issues/92

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


class Trainer:
    joins = 2

    def __init__(self):
        self.model = Classifier()
        self.epoch = 0
        self.build()

    def build(self):
        groups = [{"params": self.model.head.parameters()}]
        if self.epoch >= self.joins:
            groups.append({"params": self.model.backbone.parameters(), "lr": 1e-3})
        self.optimizer = torch.optim.Adam(groups, lr=1e-2)

    def fit(self, x, y, epochs):
        while self.epoch < epochs:
            if self.epoch == self.joins:
                self.build()
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.model.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.epoch += 1
        return loss.item()

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}

    def resume(self, state):
        self.model.load_state_dict(state["model"])
        self.epoch = state["epoch"]
        self.build()
        self.optimizer.load_state_dict(state["optimizer"])


def main():
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = x[:, :3].argmax(1)
    first = Trainer()
    print("until epoch 4", first.fit(x, y, 4))
    second = Trainer()
    second.resume(first.state())
    print("until epoch 8", second.fit(x, y, 8))


if __name__ == "__main__":
    main()
