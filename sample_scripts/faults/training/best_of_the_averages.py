"""A translator of digits is scored with averaged weights, of which the best are kept: a copy of their state.

As in https://github.com/huggingface/diffusers/issues/7549.
"""

import copy

import torch
from torch import nn


class Slow:
    def __init__(self, model):
        self.values = {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def follow(self, model):
        for name, value in model.named_parameters():
            self.values[name].mul_(0.9).add_(value, alpha=0.1)

    @torch.no_grad()
    def enter(self, model):
        for name, value in model.named_parameters():
            value.copy_(self.values[name])


def hits(model, digits):
    model.eval()
    with torch.no_grad():
        score = (model(digits).argmax(-1) == 9 - digits).float().mean().item()
    model.train()
    return score


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 10))
    optimizer, slow, best, kept = torch.optim.AdamW(model.parameters(), lr=0.01), Slow(model), -1.0, None
    for step in range(40):
        digits = torch.randint(10, (8, 5))
        loss = nn.functional.cross_entropy(model(digits).flatten(0, 1), (9 - digits).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slow.follow(model)
        if step % 8 == 7:
            before = copy.deepcopy(model.state_dict())
            slow.enter(model)  # expect: GS898
            score = hits(model, torch.arange(10))
            if score > best:
                best, kept = score, copy.deepcopy(model.state_dict())
    print(f"{best:.2f} {len(kept)} {len(before)}")


main()
