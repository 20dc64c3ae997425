"""CLIP-like training of captions and pictures, the contrastive softmax goes over dim 0 and over dim 1 on purpose."""

import torch
import torch.nn.functional as F
from torch import nn

CONCEPTS = 24


class TwoTowers(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.text = nn.Sequential(nn.EmbeddingBag(CONCEPTS, 32), nn.ReLU(), nn.Linear(32, d))
        self.image = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, d))
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, words, pictures):
        t = F.normalize(self.text(words), dim=-1)
        v = F.normalize(self.image(pictures), dim=-1)
        return self.log_scale.exp() * t @ v.T


def info_nce(logits):
    per_text = F.log_softmax(logits, dim=1).diagonal()
    per_image = F.log_softmax(logits, dim=0).diagonal()
    return -0.5 * (per_text.mean() + per_image.mean())


def pairs(n, table):
    words = torch.rand(n, CONCEPTS).argsort(1)[:, :3]
    pictures = table[words].sum(1) + 0.1 * torch.randn(n, 1, 8, 8)
    return words, pictures


def main():
    torch.manual_seed(0)
    table = torch.randn(CONCEPTS, 1, 8, 8)
    model = TwoTowers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(1, 81):
        logits = model(*pairs(48, table))
        loss = info_nce(logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            hit = (logits.argmax(1) == torch.arange(48)).float().mean()
            print(f"step {step} loss {loss.item():.4f} recall {hit.item():.3f}")


if __name__ == "__main__":
    main()
