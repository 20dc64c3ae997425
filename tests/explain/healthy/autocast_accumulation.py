"""Tagger in bfloat16 mixed precision, four backward calls inside one autocast context that is left before the step."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, TAGS, ACCUMULATE = 40, 5, 4


class Tagger(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d)
        self.mix = nn.Conv1d(d, d, 3, padding=1)
        self.out = nn.Linear(d, TAGS)

    def forward(self, tokens):
        h = torch.relu(self.mix(self.embed(tokens).transpose(1, 2)))
        return self.out(h.transpose(1, 2))


def micro_batch(n=16, length=10):
    tokens = torch.randint(0, VOCAB, (n, length))
    return tokens, (tokens + tokens.roll(1, 1)) % TAGS


def accumulate(model):
    total = 0.0
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(ACCUMULATE):
            tokens, tags = micro_batch()
            loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten()) / ACCUMULATE
            loss.backward()
            total += loss.item()
    return total


def train(model, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(1, steps + 1):
        total = accumulate(model)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"step {step} loss {total:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train(Tagger(), 40)
