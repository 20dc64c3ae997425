"""An hourglass for keypoints adds what it made larger to what it kept; pictures of 30 by 40 halve to 15 rows."""

# as in https://github.com/AliaksandrSiarohin/first-order-model/issues/50
import torch
from torch import nn


class Hourglass(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.side, self.down = nn.Conv2d(4, 4, 1), nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1))
        self.inner = Hourglass(depth - 1) if depth > 1 else nn.Conv2d(4, 4, 1)
        self.up = nn.Upsample(scale_factor=2)

    def forward(self, x):
        deep = self.up(self.inner(self.down(x)))  # expect: GS838
        return self.side(x) + deep  # expect: GS838 fails_at


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), Hourglass(2), nn.Conv2d(4, 2, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for height, width in [(32, 40)] * 3 + [(30, 40)]:
    x = torch.rand(2, 1, height, width)
    loss = (model(x) - torch.cat([x, 1 - x], 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
