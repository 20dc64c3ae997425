"""Scale the weights of every linear layer."""

import torch
from torch import nn


@torch.no_grad()
def initialise(model, gain=0.5):
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.mul_(gain)
