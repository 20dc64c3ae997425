"""Weights of a choir's voices are moved by hand along two terms, each with a backward of its own, and never cleared.

As in https://stackoverflow.com/questions/48001598/why-do-we-need-to-call-zero-grad-in-pytorch.
"""

import torch

VOICES = 6


def mixed(voices, weights):
    return (voices * weights.softmax(0)).sum(-1)


torch.manual_seed(0)
weights = torch.nn.Parameter(torch.zeros(VOICES))
wanted = torch.tensor([3.0, 1.0, 0.0, 2.0, 0.0, 1.0]).softmax(0)
for bar in range(40):
    voices = torch.randn(64, VOICES).sin()
    heard = (mixed(voices, weights) - voices @ wanted).abs().mean()
    heard.backward()
    quiet = 0.01 * weights.square().sum()
    quiet.backward()  # expect: GS801 called_at
    with torch.no_grad():
        weights.copy_(weights - 0.2 * weights.grad)  # expect: GS801
print(f"{heard.item():.4f}")
