"""A classifier whose last layer can be exchanged."""

from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.head = nn.Linear(6, classes)

    def adapt(self, classes):
        self.head = nn.Linear(self.head.in_features, classes)  # expect: GS727 made_at

    def forward(self, x):
        return self.head(self.body(x).relu())
