"""LSTM tagger with a smoothness penalty on its hidden states.

The penalty does backward(retain_graph=True) by itself and is also in the total, so it weighs double.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self, feats=5, hidden=24, tags=3):
        super().__init__()
        self.lstm = nn.LSTM(feats, hidden, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hidden, tags)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.proj(states), states


def make_sequences(n, length=15, feats=5, tags=3):
    change = (torch.rand(n, length) < 0.2).long()
    y = change.cumsum(1) % tags
    x = torch.randn(n, length, feats)
    x[..., :tags] += 1.5 * F.one_hot(y, tags)
    return x, y


def smoothness(states):
    return (states[:, 1:] - states[:, :-1]).pow(2).mean()


def step(model, opt, x, y, lam=0.8):
    logits, states = model(x)
    tag_loss = F.cross_entropy(logits.reshape(-1, 3), y.reshape(-1))
    smooth = lam * smoothness(states)
    opt.zero_grad(set_to_none=True)
    smooth.backward(retain_graph=True)  # expect: GS806
    full = tag_loss + smooth
    full.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    return tag_loss.item(), smooth.item()


def main():
    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    for it in range(24):
        x, y = make_sequences(16)
        tag, smooth = step(model, opt, x, y)
        if it % 6 == 0 or it == 23:
            print(f"it {it:2d} tag {tag:.4f} smooth {smooth:.5f}")


main()
