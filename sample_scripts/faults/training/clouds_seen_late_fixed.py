"""Cloud heights from a satellite's channels; whether there is a cloud at all is learned from the second epoch on.

As in https://github.com/PaddlePaddle/PaddleSeg/issues/1022.
"""

import torch
from torch import nn
from torch.nn import functional


class Sky(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = nn.Sequential(nn.Linear(7, 24), nn.SiLU())
        self.height, self.cloud = nn.Linear(24, 1), nn.Linear(24, 1)

    def forward(self, channels):
        seen = self.seen(channels)
        cloud = self.cloud(seen)
        height = self.height(seen) * torch.sigmoid(cloud)
        return height, functional.dropout(cloud, 0.1, self.training)


def loss_of(sky, channels, known, epoch):
    height, cloud = sky(channels)
    loss = functional.mse_loss(height[:, 0], channels[:, :3].clamp(min=0).sum(1))
    if epoch:
        is_cloud = (channels[:, :3].sum(1) > 0).float()
        loss = loss + functional.binary_cross_entropy_with_logits(cloud[known].view(-1), is_cloud[known])
    return loss


def train():
    torch.manual_seed(4)
    sky = Sky()
    optimizer = torch.optim.AdamW(sky.parameters(), 0.01)
    for epoch in range(2):
        for _ in range(12):
            channels = torch.randn(16, 7)
            loss = loss_of(sky, channels, torch.arange(16) % 4 != epoch, epoch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{loss.item():.3f}")


train()
