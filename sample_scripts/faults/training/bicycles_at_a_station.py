"""How many bicycles a station lends; a helper that trains one epoch makes the optimizer, as the library's does.

As in https://github.com/alan-turing-institute/deepsensor/issues/47.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, lr=2e-3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)  # expect: GS906
    model.train()
    for weather, lent in loader:
        loss = nn.functional.poisson_nll_loss(model(weather).squeeze(1), lent)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()


@torch.no_grad()
def validate(model, weather, lent):
    model.eval()
    return nn.functional.poisson_nll_loss(model(weather).squeeze(1), lent).item()


def main():
    torch.manual_seed(0)
    weather = torch.randn(128, 5)
    lent = torch.poisson(torch.exp(weather[:, 0] * 0.5 + 1))
    loader = DataLoader(TensorDataset(weather, lent), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 1))
    for epoch in range(5):  # expect: GS906 called_at
        train_epoch(model, loader)
        print(epoch, round(validate(model, weather, lent), 3))


main()
