"""Tiny residual text classifier with activation checkpointing in every block.

As in https://github.com/pytorch/torchtitan/issues/1323.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass
class ModelConfig:
    vocab: int = 60
    dim: int = 32
    depth: int = 3
    dropout: float = 0.3
    classes: int = 3
    recompute: bool = True
    recompute_keep_rng: bool = True


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm = nn.LayerNorm(cfg.dim)
        self.up = nn.Linear(cfg.dim, 4 * cfg.dim)
        self.down = nn.Linear(4 * cfg.dim, cfg.dim)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x):
        return x + self.down(self.drop(torch.relu(self.up(self.norm(x)))))


class TextClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.depth))
        self.head = nn.Linear(cfg.dim, cfg.classes)

    def run_block(self, block, x):
        if self.cfg.recompute and self.training:
            return checkpoint(block, x, use_reentrant=False, preserve_rng_state=self.cfg.recompute_keep_rng)
        return block(x)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(x.mean(dim=1))


def make_documents(cfg, n=900, length=12, seed=17):
    gen = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, cfg.classes, (n,), generator=gen)
    common = torch.randint(0, cfg.vocab, (n, length), generator=gen)
    topical = labels.unsqueeze(1) * 20 + torch.randint(0, 20, (n, length), generator=gen)
    use_topic = torch.rand(n, length, generator=gen) < 0.3
    return torch.where(use_topic, topical, common), labels


def evaluate(model, docs, labels):
    model.eval()
    with torch.no_grad():
        acc = (model(docs).argmax(1) == labels).float().mean().item()
    model.train()
    return acc


def main(steps=6, batch=48):
    torch.manual_seed(23)
    cfg = ModelConfig()
    docs, labels = make_documents(cfg)
    model = TextClassifier(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        pick = torch.randint(0, 750, (batch,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(docs[pick]), labels[pick])
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    print("held-out accuracy", round(evaluate(model, docs[750:], labels[750:]), 3))


if __name__ == "__main__":
    main()
