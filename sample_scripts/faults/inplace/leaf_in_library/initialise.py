"""Scale the weights of every linear layer."""

from torch import nn


def initialise(model, gain=0.5):
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.mul_(gain)  # expect: GS703
