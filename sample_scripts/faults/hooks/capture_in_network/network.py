"""A network that captures gradients."""

from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 1)
        self.activation = nn.LeakyReLU(0.1, inplace=True)
        self.captured = []

    def capture(self, gradient):
        self.captured.append(gradient.norm().item())

    def forward(self, x):
        hidden = self.first(x)
        hidden.register_hook(self.capture)  # expect: GS751
        hidden = self.activation(hidden)
        return self.second(hidden)
