"""minGPT style trainer with use_amp and grad_norm_clip.

Scaler.unscale_ is forgotten so every gradient is clipped at the scaled size.

See https://github.com/pytorch/examples/issues/1196
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class TrainerConfig:
    max_steps: int = 24
    batch_size: int = 16
    lr: float = 0.1
    grad_norm_clip: float = 1.0
    use_amp: bool = True


class TinyGPT(nn.Module):
    def __init__(self, vocab=12, d=24, T=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.randn(1, T, d) * 0.02)
        self.block = nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, vocab)
        self.register_buffer("mask", torch.triu(torch.ones(T, T, dtype=torch.bool), 1))

    def forward(self, x, y):
        h = self.block(self.tok(x) + self.pos, src_mask=self.mask)
        return nn.functional.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", enabled=cfg.use_amp)

    def batch(self):
        start = torch.randint(0, 12, (self.cfg.batch_size, 1))
        seq = (start + 3 * torch.arange(11)) % 12
        return seq[:, :-1], seq[:, 1:]

    def run_batch(self):
        loss = self.model(*self.batch())
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_norm_clip)  # expect: GS821
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def train(self):
        for step in range(self.cfg.max_steps):
            loss = self.run_batch()
            if step % 6 == 0 or step == self.cfg.max_steps - 1:
                print(f"step {step} | train loss {loss:.5f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(TrainerConfig(), TinyGPT()).train()
