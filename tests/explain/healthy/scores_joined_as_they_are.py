"""Scores of several kinds that are joined, and scaled together, or meant to differ."""

import math

import torch
import torch.nn.functional as F
from torch import nn

SHARP = 0.2


def first(scores):
    return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long))


def scaled_together(a, b, others):
    near, far = (a * b).sum(1, keepdim=True), a @ others.T
    return first(torch.cat([near, far], 1) / SHARP) + first(torch.cat([near, 0.5 * far], 1) / SHARP)


def scaled_in_each(a, b, others):
    near, far = (a * b).sum(1, keepdim=True) / SHARP, a @ (others / SHARP).T
    return first(torch.cat([near, far], 1))


def scaled_before(a, b, others):
    scores = a @ torch.cat([b, others]).T / SHARP
    return first(torch.cat([scores.diagonal()[:, None], scores[:, len(b) :]], 1))


def pulled_and_spread(a, b, others):
    """Two aims of which the second alone has a temperature; and quotients by all but the pair itself."""
    near = torch.exp((a * b).sum(1))
    far = torch.exp(a @ others.T / SHARP).sum(1)
    apart = torch.log(far / near).mean()
    return apart - torch.log(near / (1 + far)).mean() + torch.log(near / (near.detach() + far)).square().mean()


def scaled_in_place(a, b, others):
    scores = a @ torch.cat([b, others]).T
    near = scores.diagonal()[:, None]
    scores /= SHARP
    return first(torch.cat([near, scores[:, len(b) :]], 1))


class Heads(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.none, self.scale = nn.Parameter(torch.randn(width)), nn.Parameter(torch.tensor(2.0))
        self.judge = nn.Linear(17, 1)

    def forward(self, a, b, others, words):
        """No answer at all, learned scales, another length, a sum of two, weights, another pair, words, features."""
        far = a @ others.T / SHARP
        near = (a * b).sum(1, keepdim=True)
        loss = first(torch.cat([(a * self.none).sum(1, keepdim=True), far], 1))
        loss = loss + first(torch.cat([near * self.scale, a @ others.T], 1))
        loss = loss + first(torch.cat([near, (a * self.scale) @ others.T], 1))
        loss = loss + first(torch.cat([(a / a.abs().sum(1, keepdim=True) * b).sum(1, keepdim=True), far], 1))
        loss = loss + first(torch.cat([near + (b * b).sum(1, keepdim=True), far], 1))
        loss = loss + first(torch.cat([near, a @ others.T * torch.linspace(0.5, 2, len(others))], 1))
        loss = loss + first(torch.cat([(b * words[: len(b)]).sum(1, keepdim=True), far], 1))
        loss = loss + first(torch.cat([a @ words.T, a @ others.T / math.sqrt(8)], 1))
        return loss + self.judge(torch.cat([near, far], 1)).square().mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    encoder, heads = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 8)), Heads()
    optimizer = torch.optim.Adam([*encoder.parameters(), *heads.parameters()], lr=1e-2)
    for _ in range(12):
        x, words = torch.randn(24, 10), encoder(torch.randn(16, 10))
        a, b, others = encoder(x[:8]), encoder(x[:8] + 0.1), encoder(x[8:])
        loss = sum(
            one(a, b, others)
            for one in (scaled_together, scaled_in_each, scaled_before, scaled_in_place, pulled_and_spread)
        )
        loss = loss + heads(a, b, others, words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
