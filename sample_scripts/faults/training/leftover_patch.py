"""A segmentation net with pooled context that stops in the last batch of its first epoch."""
# as in https://github.com/azavea/raster-vision/pull/1029

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Context(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width, 1), nn.BatchNorm2d(width), nn.ReLU())

    def forward(self, x):
        return x + self.pool(x)


class Learner:
    def __init__(self, size, batch):
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(size, 1, 8, 8, generator=generator)
        self.loader = DataLoader(TensorDataset(images, (images > 0).float()), batch, shuffle=True)  # expect: GS814
        self.held_out = DataLoader(TensorDataset(images[:4], (images[:4] > 0).float()), 2)
        self.model = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), Context(6), nn.Conv2d(6, 1, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

    def epoch(self):
        self.model.train()
        for images, masks in self.loader:
            loss = F.binary_cross_entropy_with_logits(self.model(images), masks)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    learner = Learner(size=33, batch=4)
    for number in range(2):
        print(f"epoch {number} loss {learner.epoch():.3f}")
