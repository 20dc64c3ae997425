"""A decoder ported from nn.Transformer, mask and all: what it writes repeats what it was given."""

import torch
from torch import nn
from torch.nn import functional as F


def subsequent(size, device):
    return torch.ones(size, size, dtype=torch.bool, device=device).triu(0)


class Decoder(nn.Module):
    def __init__(self, notes=12, width=24):
        super().__init__()
        self.embed = nn.Embedding(notes, width)
        self.time = nn.Parameter(torch.zeros(16, width))
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.out = nn.Linear(width, notes)

    def attend(self, x):
        mask = subsequent(x.shape[1], x.device)[None]
        return F.scaled_dot_product_attention(
            self.q(x),
            self.k(x),
            self.v(x),
            attn_mask=mask.mT,
        )

    def forward(self, notes):
        x = self.embed(notes) + self.time[: notes.shape[1]]
        x = x + self.attend(x)
        return self.out(x + self.feed(x))


def melodies(count, length=9):
    step = torch.randint(1, 4, (count, 1))
    return (torch.randint(0, 12, (count, 1)) + step * torch.arange(length)) % 12


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for step in range(steps):
        batch = melodies(12)
        scores = model(batch[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    train(Decoder(), 40)
