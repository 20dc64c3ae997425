"""One member of the ensemble."""

import torch

seen = torch.zeros(4)


def activation(weight, x):
    hidden = torch.tanh(weight @ x)
    seen.copy_(hidden)  # expect: GS775
    return hidden.sum()
