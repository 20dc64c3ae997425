"""Whether a room is let soon, from its size, price and floor in the units of the table.

As in https://github.com/NLeSC/mcfly/issues/43.
"""

import torch
from torch import nn


def make_rooms(n=600):
    gen = torch.Generator().manual_seed(1)
    share = torch.rand(n, 3, generator=gen)
    let = share[:, 0] + share[:, 2] + 0.3 * torch.randn(n, generator=gen) > 1.0
    return share * torch.tensor([400.0, 3000.0, 50.0]), let.float()[:, None]


def main(steps=140, batch=50):
    torch.manual_seed(0)
    rooms, let = make_rooms()
    net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(steps):
        pick = torch.randperm(len(rooms))[:batch]
        loss = nn.functional.binary_cross_entropy_with_logits(net(rooms[pick]), let[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
