"""Several properties of a mixture, each with its own importance in the loss, on an encoder that rests for some epochs.

As in https://github.com/chemprop/chemprop/issues/657.
"""

import torch
from torch import nn


class Properties(nn.Module):
    def __init__(self, importance):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 16))
        self.predict = nn.Linear(16, 3)
        share = torch.tensor(importance) / sum(importance)
        self.register_parameter("importance", nn.Parameter(share, requires_grad=False))  # expect: GS766

    def loss(self, found, wanted):
        return ((found - wanted).pow(2).mean(dim=0) * self.importance).sum()

    def forward(self, mixture, wanted):
        return self.loss(self.predict(self.encoder(mixture)), wanted)


def set_frozen(module, frozen):
    for _, parameter in module.named_parameters():
        parameter.requires_grad_(not frozen)  # expect: GS766 cause_at


def run_epoch(model, optimizer):
    for _ in range(4):
        mixture = torch.rand(32, 6)
        wanted = torch.stack([mixture[:, 0], mixture[:, 1] * mixture[:, 2], mixture[:, 3:].sum(dim=1)], dim=1)
        optimizer.zero_grad()
        loss = model(mixture, wanted)
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = Properties([1.0, 2.0, 0.5])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    if epoch in (0, 5):
        set_frozen(model.encoder if epoch == 0 else model, frozen=epoch == 0)
    print(f"{run_epoch(model, optimizer):.4f}")
