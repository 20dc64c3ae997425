"""Both of two players are cleared behind their steps, and one as a module, or by hand, before two backward calls."""

import torch
from torch import nn
from torch.nn.functional import softplus


def play(forger, judge):
    makes = torch.optim.Adam(forger.parameters(), lr=2e-3)
    judges = torch.optim.Adam(judge.parameters(), lr=2e-3)
    for step in range(24):
        forged = forger(torch.randn(16, 4))
        softplus(-judge(forged)).mean().backward()
        makes.step()
        makes.zero_grad()
        if step % 2:
            judge.zero_grad()
        else:
            for weight in judge.parameters():
                weight.grad = None
        softplus(-judge(torch.rand(16, 6))).mean().backward()
        softplus(judge(forged.detach())).mean().backward()
        judges.step()
        judges.zero_grad()


def code(encoder, decoder):
    """Each loss trains all; the decoder's optimizer steps each third time, with the sum of them."""
    encodes = torch.optim.SGD(encoder.parameters(), lr=0.01)
    decodes = torch.optim.SGD(decoder.parameters(), lr=0.01)
    for step in range(24):
        x = torch.randn(16, 6)
        (decoder(encoder(x)) - x).square().mean().backward()
        encodes.step()
        encodes.zero_grad()
        if step % 3 == 2:
            decodes.step()
            decodes.zero_grad()


if __name__ == "__main__":
    torch.manual_seed(0)
    play(nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)))
    code(nn.Linear(6, 3), nn.Linear(3, 6))
