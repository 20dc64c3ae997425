"""GradScaler that begins with a far too large scale, skips its first few steps (as designed) and trains
normally afterwards, with unscale_ before the clipping.
"""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, backoff_factor=2.0**-2)
        self.skipped = 0

    def step(self, x, y):
        self.optimizer.zero_grad()
        pred = self.model(x).squeeze(1)
        loss = 100 * nn.functional.mse_loss(pred, y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 50.0)
        self.scaler.step(self.optimizer)
        before = self.scaler.get_scale()
        self.scaler.update()
        self.skipped += int(self.scaler.get_scale() < before)
        return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1]
    trainer = Trainer(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)))
    for it in range(40):
        idx = torch.randint(0, 256, (32,))
        loss = trainer.step(x[idx], y[idx])
        if it % 8 == 7:
            print(f"it {it + 1} loss {loss:.3f} skipped so far {trainer.skipped}")


if __name__ == "__main__":
    main()
