"""Convolutional autoencoder with tied filters that ends with two different sets of filters after a bfloat16 resume."""

import io

import torch
import torch.nn.functional as F
from torch import nn


class TiedConvAE(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.encode = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.decode = nn.ConvTranspose2d(channels, 1, 3, stride=2, padding=1, output_padding=1)
        self.tie()

    def tie(self):
        # a convolution and its transpose take filters of the same shape
        self.decode.weight = self.encode.weight

    def forward(self, x):
        return self.decode(torch.relu(self.encode(x)))


def blobs(n):
    grid = torch.arange(10.0)
    cy, cx = 10 * torch.rand(2, n, 1)
    rows = (-((grid - cy) ** 2) / 4).exp()
    cols = (-((grid - cx) ** 2) / 4).exp()
    return (rows[:, :, None] * cols[:, None, :])[:, None]


def fit(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(steps):
        x = blobs(32)
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1} mse {loss.item():.5f}")


def save_half(model):
    file = io.BytesIO()
    torch.save({k: v.to(torch.bfloat16) for k, v in model.state_dict().items()}, file)
    file.seek(0)
    return file


torch.manual_seed(0)
model = TiedConvAE()
fit(model, 20)
checkpoint = torch.load(save_half(model))

model = TiedConvAE()
model.load_state_dict({k: v.float() for k, v in checkpoint.items()}, assign=True)  # expect: GS833
fit(model, 40)
print(f"distance of the filters {(model.encode.weight - model.decode.weight).norm().item():.4f}")
