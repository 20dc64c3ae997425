"""Tiny segmentation net trained with GradScaler where the loss barely moves.

Clipping is done on the still scaled gradients, unscale_ is missing.

As reported in https://github.com/milesial/Pytorch-UNet/issues/468
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

# blobs on noise, predict the blob mask
images = torch.randn(64, 1, 16, 16) * 0.5
masks = torch.zeros(64, 1, 16, 16)
for i in range(64):
    r, c = torch.randint(0, 10, (2,)).tolist()
    masks[i, :, r : r + 6, c : c + 6] = 1
images = images + 2 * masks


class MiniUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down = nn.Conv2d(1, ch, 3, padding=1)
        self.mid = nn.Conv2d(ch, ch * 2, 3, padding=1)
        self.up = nn.Conv2d(ch * 3, 1, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.down(x))
        b = F.relu(self.mid(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2)
        return self.up(torch.cat([a, b], 1))


model = MiniUNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()
grad_scaler = torch.amp.GradScaler("cpu")
gradient_clipping = 1.0

for epoch in range(8):
    epoch_loss = 0
    for i in range(0, 64, 16):
        x, m = images[i : i + 16], masks[i : i + 16]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(x)
            loss = criterion(pred.float(), m)
        optimizer.zero_grad(set_to_none=True)
        grad_scaler.scale(loss).backward()
        grad_scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping)
        grad_scaler.step(optimizer)
        grad_scaler.update()
        epoch_loss += loss.item()
    print(f"epoch {epoch}: loss {epoch_loss / 4:.4f}")
