"""Segmentation of discs with soft Dice and edge error as metrics with gradients on, validation without no_grad."""

import torch
import torch.nn.functional as F
from torch import nn


def discs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy, cx = torch.randint(4, size - 4, (2, n, 1, 1))
    radius = torch.randint(2, 5, (n, 1, 1))
    mask = ((yy - cy) ** 2 + (xx - cx) ** 2 <= radius**2).float()
    return mask[:, None] + 0.7 * torch.randn(n, 1, size, size), mask[:, None]


def soft_dice(logits, mask):
    p = torch.sigmoid(logits)
    overlap = 2 * (p * mask).sum((1, 2, 3))
    return (overlap / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1e-6)).mean()


def edge_error(logits, mask):
    p = torch.sigmoid(logits)
    return F.l1_loss(p.diff(dim=-1), mask.diff(dim=-1))


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1)
        )
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def train_step(self, x, mask):
        logits = self.net(x)
        loss = F.binary_cross_entropy_with_logits(logits, mask)
        metrics = {"dice": soft_dice(logits, mask), "edge": edge_error(logits, mask)}
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), {k: v.item() for k, v in metrics.items()}

    def validate(self, x, mask):
        self.net.eval()
        logits = self.net(x)
        val_loss = F.binary_cross_entropy_with_logits(logits, mask)
        self.net.train()
        return val_loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer()
    held_out = discs(32)
    for step in range(1, 41):
        loss, metrics = trainer.train_step(*discs(16))
        if step % 10 == 0:
            text = " ".join(f"{k} {v:.3f}" for k, v in metrics.items())
            print(f"step {step} loss {loss:.4f} {text} val {trainer.validate(*held_out):.4f}")
