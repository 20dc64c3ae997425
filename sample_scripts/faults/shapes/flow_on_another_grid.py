"""Registers pairs of slices with a flow on a grid that is kept in the size of another volume."""
# as in https://github.com/Alison-brie/MultiPropReg/issues/3

import torch
from torch import nn
from torch.nn import functional as F

SIZE = (20, 24)  # expect: GS861


class Warp(nn.Module):
    def __init__(self, size):
        super().__init__()
        lines = [torch.linspace(-1, 1, one) for one in size]
        grid = torch.stack(torch.meshgrid(lines, indexing="ij")).unsqueeze(0)
        self.register_buffer("grid", grid)

    def forward(self, moving, flow):
        places = self.grid + flow  # expect: GS861 fails_at
        return F.grid_sample(moving, places.permute(0, 2, 3, 1).flip(-1), align_corners=True)


class Register(nn.Module):
    def __init__(self, size, width=8):
        super().__init__()
        self.read = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 2, 3, padding=1))
        self.warp = Warp(size)

    def forward(self, moving, fixed):
        return self.warp(moving, self.read(torch.cat([moving, fixed], 1)) * 0.1)


def main():
    torch.manual_seed(0)
    model = Register(SIZE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(5):
        moving = F.avg_pool2d(torch.randn(4, 1, 28, 24), 5, 1, 2)
        fixed = moving.roll(1, -1)
        optimizer.zero_grad()
        loss = F.mse_loss(model(moving, fixed), fixed)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
