"""A model of sensors is trained; in a second stage a prompt in front of each series is to learn, with a new output.

As in https://github.com/ai4colonoscopy/IntelliScope/issues/2.
"""

import torch
from torch import nn


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mix = nn.Linear(2, 12), nn.GRU(12, 12, batch_first=True)
        self.prompt = None

    def forward(self, x):
        x = self.embed(x)
        if self.prompt is not None:
            x = torch.cat([self.prompt.expand(len(x), -1, -1), x], 1)
        return self.mix(x)[0][:, -1]


def train(series, out, steps):
    parameters = [p for p in [*series.parameters(), *out.parameters()] if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(steps):
        x = torch.randn(16, 10, 2)
        loss = (out(series(x)) - x.mean((1, 2)).unsqueeze(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


torch.manual_seed(2)
series = Series()
train(series, nn.Linear(12, 1), 20)
series.prompt = nn.Parameter(torch.randn(1, 3, 12) * 0.1)
series.requires_grad_(False)  # expect: GS716 cause_at
for name, p in series.named_parameters():
    if name != "prompt":  # expect: GS716
        p.requires_grad = False
train(series, nn.Linear(12, 1), 20)
