"""How bright a star is, from frames of different exposure: a Function brings each frame to the same exposure.

As in https://github.com/zergtant/pytorch-handbook/issues/69.
"""

import torch
from torch import nn


class Expose(torch.autograd.Function):
    @staticmethod
    def forward(ctx, frame, exposure):
        ctx.save_for_backward(exposure)
        return frame * exposure

    @staticmethod
    def backward(ctx, gradient):
        (exposure,) = ctx.saved_tensors
        for_frame = gradient.clone()
        return for_frame, None  # expect: GS918


class Stars(nn.Module):
    def __init__(self):
        super().__init__()
        self.blur = nn.Conv2d(1, 4, 3, padding=1)
        self.head = nn.Linear(4, 1)

    def forward(self, frame, exposure):
        light = Expose.apply(self.blur(frame), exposure.view(-1, 1, 1, 1))
        return self.head(torch.tanh(light).mean((2, 3))).squeeze(1)


def frames(count):
    far = torch.linspace(-1, 1, 9)
    star = torch.exp(-(far[:, None] ** 2 + far[None] ** 2) / 0.1)
    brightness, exposure = 0.2 + torch.rand(count), torch.tensor([0.25, 4.0])[torch.randint(0, 2, (count,))]
    return (brightness / exposure).view(-1, 1, 1, 1) * star, exposure, brightness


def main():
    torch.manual_seed(0)
    stars = Stars()
    optimizer = torch.optim.Adam(stars.parameters(), lr=0.01)
    for step in range(12):
        frame, exposure, brightness = frames(16)
        loss = nn.functional.mse_loss(stars(frame, exposure), brightness)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(step, round(loss.item(), 3))


main()
