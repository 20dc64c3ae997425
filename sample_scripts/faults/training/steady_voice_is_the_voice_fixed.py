"""A filter of voices is judged by a steady state of it, which is copied into another name of the same filter.

As in https://github.com/devilismyfriend/StableTuner/pull/126.
"""

import copy

import torch
from torch import nn


class Steady:
    def __init__(self, voice):
        self.state = {name: p.detach().clone() for name, p in voice.named_parameters()}

    @torch.no_grad()
    def follow(self, voice, pace=0.1):
        for name, p in voice.named_parameters():
            self.state[name].lerp_(p, pace)

    @torch.no_grad()
    def of(self, voice):
        steady = copy.deepcopy(voice)
        for name, p in steady.named_parameters():
            p.copy_(self.state[name])
        return steady


def heard(voice, sounds):
    with torch.no_grad():
        return nn.functional.l1_loss(voice(sounds), sounds).item()


torch.manual_seed(0)
voice = nn.Sequential(nn.Conv1d(1, 6, 5, padding=2), nn.GELU(), nn.Conv1d(6, 1, 5, padding=2))
steady, first = Steady(voice), copy.deepcopy(voice)
optimizer = torch.optim.AdamW(voice.parameters(), lr=3e-3)
for step in range(40):
    sounds = torch.sin(torch.rand(16, 1, 1) * torch.arange(32.0))
    loss = nn.functional.l1_loss(voice(sounds + 0.3 * torch.randn_like(sounds)), sounds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    steady.follow(voice)
    if step % 10 == 9:
        judged = steady.of(voice)
        print(f"{step}: {heard(judged, sounds):.4f} {heard(first, sounds):.4f}")
