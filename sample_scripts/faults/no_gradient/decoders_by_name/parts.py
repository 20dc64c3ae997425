"""Where the layers are built, for whoever asks."""

from torch import nn


def perceptron(inputs, hidden, outputs):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))
