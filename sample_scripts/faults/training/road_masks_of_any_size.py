"""A U-Net for roads, trained on square crops and run on a whole picture, whose height is no multiple of four."""

# as in https://github.com/ptrblck/pytorch_misc/issues/2
import torch
from torch import nn
from torch.nn import functional as F


class Roads(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.low, self.out = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        kept = torch.relu(self.two(F.max_pool2d(torch.relu(self.one(x)), 2)))
        low = torch.relu(self.low(F.max_pool2d(kept, 2)))
        low = F.interpolate(low, scale_factor=2)  # expect: GS838
        return self.out(torch.cat([kept, low], dim=1))  # expect: GS838 fails_at


torch.manual_seed(0)
model = Roads()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    x = torch.rand(2, 3, 16, 16)
    loss = F.binary_cross_entropy_with_logits(model(x), (x.mean(1, keepdim=True) > 0.5).float()[..., ::2, ::2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print("whole picture", tuple(model(torch.rand(1, 3, 22, 32)).shape))
