"""CNN that counts dots, with weights for rare counts.

The weighted loss subtracts [N] targets from [N, 1] outputs, so each image is compared with all targets.
"""

import torch
from torch import nn


def dots(n, size=14, most=6):
    counts = torch.randint(0, most + 1, (n,))
    imgs = 0.05 * torch.randn(n, 1, size, size)
    for i, c in enumerate(counts.tolist()):
        where = torch.randperm(size * size)[:c]
        imgs[i, 0].view(-1)[where] += 1.0
    return imgs, counts.float()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.ReLU(),
        )
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(self.conv(x).sum(dim=(2, 3)) / 20)


def weighted_mse(output, target):
    weight = 1.0 + 0.2 * target
    residual = target - output  # expect: GS808 computed_at
    return (weight * residual.pow(2)).sum() / residual.numel()


def main():
    torch.manual_seed(0)
    net = Counter()
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    for step in range(36):
        img, n = dots(32)
        loss = weighted_mse(net(img), n)  # expect: GS808
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 9 == 8:
            print(f"step {step + 1:2d} loss {loss.item():.3f}")
    with torch.no_grad():
        img, n = dots(64)
        mae = (net(img).view(-1) - n).abs().mean()
    print(f"mean count error {mae.item():.2f}")


main()
