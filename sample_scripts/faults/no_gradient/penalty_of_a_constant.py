"""An autoencoder whose code is kept from changing fast with its input.

As in https://github.com/pytorch/pytorch/issues/49830.
"""

import torch
from torch import nn
from torch.autograd.functional import jacobian


def contraction(encoder, x):
    code = encoder(x)

    def summed(inputs):
        return code.sum(0)  # expect: GS729

    return jacobian(summed, x, create_graph=True).square().mean()


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    decoder = nn.Linear(3, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for step in range(20):
        x = torch.randn(16, 6)
        loss = nn.functional.mse_loss(decoder(encoder(x)), x) + 0.1 * contraction(encoder, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
