"""A loss that is held at a floor on purpose, so that nothing is learnt by heart: from then on there is no gradient."""

import torch
from torch import nn

FLOOR = 0.2


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(300):
        x = torch.randn(64, 4, generator=generator)
        error = nn.functional.mse_loss(model(x), x[:, :1] - x[:, 1:2], reduction="none").mean(0)
        loss = (torch.relu(error - FLOOR) + FLOOR).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
