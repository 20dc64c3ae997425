"""Sequence copy task with a small encoder, loss helper in the annotated style.

https://github.com/harvardnlp/annotated-transformer/issues/14
"""

import torch
from torch import nn


class Copier(nn.Module):
    def __init__(self, vocab=12, d=32, length=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.randn(length, d) * 0.1)
        self.att = nn.MultiheadAttention(d, 4, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, src):
        x = self.emb(src) + self.pos
        x = self.norm1(x + self.att(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.ff(x))


class SimpleLossCompute:
    def __init__(self, generator, criterion, opt=None):
        self.generator = generator
        self.criterion = criterion
        self.opt = opt

    def __call__(self, hidden, y, norm):
        logits = self.generator(hidden)
        loss = self.criterion(logits.reshape(-1, logits.size(-1)), y.reshape(-1)) / norm
        if self.opt is not None:
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
        return loss.item() * norm


def run_epoch(data, model, loss_compute):
    total, tokens = 0.0, 0
    for src, tgt in data:
        hidden = model(src)
        total += loss_compute(hidden, tgt, tgt.numel())
        tokens += tgt.numel()
    return total / tokens


def batches(n, size, g, vocab=12, shift=0):
    for _ in range(n):
        src = torch.randint(0, vocab, (size, 8), generator=g)
        yield src, (src.flip(1) + shift) % vocab


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(4)
    model, generator = Copier(), nn.Linear(32, 12)
    criterion = nn.CrossEntropyLoss(reduction="sum")
    params = list(model.parameters()) + list(generator.parameters())
    opt = torch.optim.SGD(params, lr=0.4)
    for epoch in range(6):
        model.train()
        tr = run_epoch(batches(8, 32, g), model, SimpleLossCompute(generator, criterion, opt))
        model.eval()
        va = run_epoch(batches(6, 32, g), model, SimpleLossCompute(generator, criterion, None))
        print(f"epoch {epoch} train {tr:.4f} valid {va:.4f}")
    norm = sum(p.detach().norm() ** 2 for p in params) ** 0.5
    print(f"weight norm {norm:.4f}")


if __name__ == "__main__":
    main()
