"""The image is optimised, the network is frozen."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval()
for p in net.parameters():
    p.requires_grad_(False)
img = torch.rand(1, 3, 8, 8, requires_grad=True)
t = net(torch.rand(1, 3, 8, 8))
o = torch.optim.Adam([img], lr=0.1)
for _i in range(5):
    o.zero_grad()
    loss = (net(img) - t).pow(2).mean()
    loss.backward()
    o.step()
    with torch.no_grad():
        img.clamp_(0, 1)
