"""Mini U-Net for blob masks whose loss stays above 0.5 and masks are all grey.

Forward ends in a sigmoid and the loss is binary_cross_entropy_with_logits.

Related: https://github.com/avBuffer/UNet3plus_pth/issues/23
"""

import torch
import torch.nn.functional as F
from torch import nn


class MiniUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down = nn.Conv2d(1, ch, 3, padding=1)
        self.mid = nn.Conv2d(ch, ch * 2, 3, padding=1)
        self.up = nn.ConvTranspose2d(ch * 2, ch, 2, stride=2)
        self.last = nn.Conv2d(ch * 2, 1, 3, padding=1)

    def forward(self, x):
        d = F.relu(self.down(x))
        m = F.relu(self.mid(F.max_pool2d(d, 2)))
        u = F.relu(self.up(m))
        x = self.last(torch.cat([d, u], dim=1))
        x = torch.sigmoid(x)  # expect: GS807
        return x


class SegTrainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        self.log = []

    def step(self, img, mask):
        self.opt.zero_grad()
        out = self.net(img)
        loss = F.binary_cross_entropy_with_logits(out, mask)
        loss.backward()
        self.opt.step()
        self.log.append(loss.item())

    def run(self, steps):
        self.net.train()
        for i in range(steps):
            self.step(*blobs(12))
            if (i + 1) % 7 == 0:
                print(f"step {i + 1} loss {sum(self.log[-7:]) / 7:.4f}")


def blobs(n, size=16):
    mask = torch.zeros(n, 1, size, size)
    for k in range(n):
        r, c = torch.randint(0, size - 6, (2,)).tolist()
        mask[k, 0, r : r + 6, c : c + 6] = 1.0
    return mask + 0.4 * torch.randn_like(mask), mask


if __name__ == "__main__":
    torch.manual_seed(0)
    SegTrainer(MiniUNet()).run(28)
