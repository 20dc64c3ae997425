"""A criterion with learned weights."""

import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")


class Criterion(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(size))

    def forward(self, prediction, target):
        prediction = prediction.clone()
        return ((prediction - target).pow(2) * (-self.log_scale).exp() + self.log_scale).mean()
