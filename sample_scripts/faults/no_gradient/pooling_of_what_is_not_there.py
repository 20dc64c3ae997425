"""Frames are pooled by attention, whose mask says which frames there are. As in https://github.com/pytorch/pytorch/pull/39321."""

import torch
from torch import nn


def within(lengths, longest):
    places = torch.arange(longest).expand(len(lengths), longest)
    return places < lengths[:, None]  # expect: GS759


class Pooled(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inward, self.outward = nn.Linear(4, width), nn.Linear(width, 1)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.asks = nn.Parameter(torch.randn(1, 1, width) * 0.1)

    def forward(self, frames, lengths):
        hidden = self.inward(frames)
        ask = self.asks.expand(len(frames), 1, -1)
        pooled, _ = self.attention(ask, hidden, hidden, key_padding_mask=within(lengths, frames.shape[1]))
        return self.outward(pooled[:, 0]).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Pooled()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(25):
        frames, lengths = torch.randn(32, 12, 4), torch.randint(3, 12, (32,))
        loss = (model(frames, lengths) - frames[:, 0, 0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
