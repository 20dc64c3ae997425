"""A language model whose decoder shares the encoder's embedding.

As in https://github.com/pytorch/pytorch/issues/40967.
"""

import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mix = nn.Embedding(12, 8), nn.Linear(8, 8)

    def forward(self, ids):
        return torch.tanh(self.mix(self.embed(ids).mean(1)))


class Decoder(nn.Module):
    def __init__(self, embed):
        super().__init__()
        self.embed, self.bias = embed, nn.Parameter(torch.zeros(12))

    def forward(self, state):
        return state @ self.embed.weight.t() + self.bias


def main():
    torch.manual_seed(0)
    encoder = Encoder()
    decoder = Decoder(encoder.embed)
    parameters = list(encoder.parameters()) + list(decoder.parameters())  # expect: GS832
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for step in range(30):
        ids = torch.randint(0, 12, (32, 4))
        loss = nn.functional.cross_entropy(decoder(encoder(ids)), ids[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
