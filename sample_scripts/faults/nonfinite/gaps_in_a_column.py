"""River levels from the gauges' rain, of which some was not measured and is NaN in the table.

As in https://github.com/pyg-team/pytorch_geometric/issues/6243.
"""

import torch
from torch import nn

GAUGES, DAYS = 5, 300


def load_rain(gen):
    rain = torch.rand(DAYS, GAUGES, generator=gen) * 30.0
    level = rain.mean(1, keepdim=True) / 10.0 + 0.1 * torch.randn(DAYS, 1, generator=gen)
    broken = torch.rand(DAYS, GAUGES, generator=gen) < 0.02
    rain[broken] = float("nan")
    return rain, level


def report(rain):
    missing = torch.isnan(rain).sum(0)
    print("not measured:", ", ".join(f"{count} days" for count in missing.tolist()))


def to_features(rain):
    scaled = rain / 30.0 - 0.5  # expect: GS732
    return scaled


def main(epochs=4, batch=50):
    torch.manual_seed(0)
    rain, level = load_rain(torch.Generator().manual_seed(7))
    report(rain)
    features = to_features(rain)
    model = nn.Sequential(nn.Linear(GAUGES, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        for start in range(0, DAYS, batch):
            loss = nn.functional.mse_loss(model(features[start : start + batch]), level[start : start + batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
