"""What blurs the inputs of a denoising encoder is taken out of it while it is measured.

As in https://github.com/NVIDIA/Megatron-LM/pull/411.
"""

import torch
from torch import nn


class Blur(nn.Module):
    def forward(self, x):
        return x + 0.3 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise, self.net = Blur(), nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 8))

    def forward(self, x):
        if self.training:
            return self.net(self.noise(x))
        return self.net(x)


def measure(model, x):
    model.eval()
    with torch.no_grad():
        return (model(x) - x).square().mean().item()


def learn(model, optimizer, x):
    model.train()
    for some in x.split(16):
        loss = (model(some) - some).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.randn(96, 3) @ torch.randn(3, 8)
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(4):
        loss = learn(model, optimizer, x[:64])
        print(f"{epoch}: {loss:.4f} {measure(model, x[64:]):.4f}")


main()
