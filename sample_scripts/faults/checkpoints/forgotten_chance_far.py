"""Small decoder-only transformer on a synthetic grammar, with recomputed blocks.

As in https://github.com/allenai/OLMo-core/pull/828.
"""

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass
class Config:
    vocab: int = 16
    width: int = 64
    heads: int = 4
    depth: int = 3
    block: int = 32
    residual_dropout: float = 0.25
    recompute: bool = True


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.norm1 = nn.LayerNorm(cfg.width)
        self.qkv = nn.Linear(cfg.width, 3 * cfg.width, bias=False)
        self.proj = nn.Linear(cfg.width, cfg.width)
        self.norm2 = nn.LayerNorm(cfg.width)
        self.up = nn.Linear(cfg.width, 4 * cfg.width)
        self.down = nn.Linear(4 * cfg.width, cfg.width)
        self.drop = nn.Dropout(cfg.residual_dropout)

    def attend(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(out.transpose(1, 2).reshape(b, n, c))

    def forward(self, x):
        x = x + self.drop(self.attend(self.norm1(x)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Decoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tokens = nn.Embedding(cfg.vocab, cfg.width)
        self.positions = nn.Parameter(torch.randn(cfg.block, cfg.width) * 0.02)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.depth))
        self.norm = nn.LayerNorm(cfg.width)
        self.head = nn.Linear(cfg.width, cfg.vocab)
        self.runner = None
        if cfg.recompute:
            self.apply_activation_checkpointing()

    def apply_activation_checkpointing(self):
        self.runner = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)  # expect: GS778

    def forward(self, ids):
        x = self.tokens(ids) + self.positions[: ids.shape[1]]
        for block in self.blocks:
            x = self.runner(block, x) if self.runner is not None and self.training else block(x)
        return self.head(self.norm(x))


def sample_grammar(batch, length, vocab, generator):
    """Each sequence repeats a random motif with an increment per repetition."""
    motif = torch.randint(0, vocab, (batch, 5), generator=generator)
    bump = torch.randint(1, 3, (batch, 1), generator=generator)
    reps = math.ceil(length / 5)
    rows = [(motif + r * bump) % vocab for r in range(reps)]
    return torch.cat(rows, 1)[:, :length]


def train(steps=6, batch=12):
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(5)
    cfg = Config()
    model = Decoder(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    running = None
    for step in range(1, steps + 1):
        ids = sample_grammar(batch, cfg.block, cfg.vocab, generator)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, cfg.vocab), ids[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        if step % 40 == 0:
            print(f"step {step:4d} loss {running:.4f}")
    return model


if __name__ == "__main__":
    train()
