"""What is frozen of a model is made float16 by a setting, and what is trained is float32, with a GradScaler.

As in https://github.com/huggingface/diffusers/issues/6442.
"""

import torch
from torch import nn

KEPT_IN, DEVICE = torch.float16, torch.get_default_device().type


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(8, 8).requires_grad_(False)
        self.small = nn.Linear(8, 8)

    def forward(self, x):
        return self.base(x) + self.small(x)


def main(steps=5):
    torch.manual_seed(0)
    model = Adapted()
    model.base.to(dtype=KEPT_IN)
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=256.0)
    for _ in range(steps):
        x = torch.randn(16, 8)
        with torch.autocast(DEVICE, dtype=KEPT_IN):
            loss = nn.functional.mse_loss(model(x).float(), x)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(trained, 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
