"""How long bicycle rides take, with nn.MSELoss.

As in https://github.com/pytorch/pytorch/issues/16045.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_rides(n=480):
    gen = torch.Generator().manual_seed(11)
    rides = torch.rand(n, 4, generator=gen)
    minutes = 40 * rides[:, 0] + 25 * rides[:, 1] ** 2 - 10 * rides[:, 2]
    return rides, (minutes - minutes.mean()) / minutes.std()


def main(epochs=4):
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(*make_rides()), batch_size=40, shuffle=True)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for rides, minutes in loader:
            loss = criterion(net(rides).squeeze(-1), minutes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
