"""Cells on slides: an encoder is pretrained, frozen for a while, and thawed late behind the optimizer's back.

As in https://github.com/fastai/fastai/issues/2133.
"""

import torch
from torch import nn


class Slides(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.encoder(x))


def pretrain(encoder):
    decoder = nn.Linear(16, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for _ in range(12):
        x = torch.randn(32, 6)
        loss = (decoder(encoder(x)) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    encoder.zero_grad()


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
    pretrain(encoder)
    encoder.requires_grad_(False)
    slides, centres = Slides(encoder), torch.randn(3, 6)
    optimizer = torch.optim.SGD([one for one in slides.parameters() if one.requires_grad], lr=0.1)
    for step in range(45):
        if step == 23:
            encoder.requires_grad_(True)  # expect: GS815
        kind = torch.randint(0, 3, (32,))
        loss = nn.functional.cross_entropy(slides(centres[kind] + torch.randn(32, 6)), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
