"""Codes of measurements, whose length is held small, sample by sample.

As in https://github.com/wohlert/semi-supervised-pytorch/issues/21.
"""

import torch
from torch import nn


def penalty(codes):
    return codes.square().mean(dim=1)


def main():
    torch.manual_seed(0)
    encode, decode = nn.Linear(12, 4), nn.Linear(4, 12)
    optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=1e-2)
    for _ in range(15):
        measured = torch.randn(24, 12)
        codes = encode(measured)
        error = (decode(codes) - measured).abs().sum(dim=1)
        loss = (error + penalty(codes)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
