"""Small transformer encoder on token counting, a big batch cut into 3 micro-batches.

The forward_backward helper clears the grads every time it is called.

Like https://github.com/pytorch/torchtitan/pull/3575
"""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab=12, dim=32, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, 4)

    def forward(self, x):
        h = self.layer(self.tok(x) + self.pos)
        return self.out(h.mean(1))


class Trainer:
    def __init__(self, model, micro_batches=3, lr=2e-3):
        self.model = model
        self.micro_batches = micro_batches
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.ce = nn.CrossEntropyLoss()
        self.step_no = 0

    def forward_backward(self, x, y):
        self.model.zero_grad()  # expect: GS802
        loss = self.ce(self.model(x), y) / self.micro_batches
        loss.backward()
        return loss.detach()

    def optim_step(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.step_no += 1

    def train(self, steps, batch_size=48):
        self.model.train()
        for _ in range(steps):
            x = torch.randint(0, 12, (batch_size, 10))
            y = (x == 0).sum(1).clamp(max=3)
            total = 0.0
            for xm, ym in zip(x.chunk(self.micro_batches), y.chunk(self.micro_batches), strict=False):
                total += self.forward_backward(xm, ym)
            self.optim_step()
            if self.step_no % 5 == 0:
                print(f"step {self.step_no:3d} loss {total.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(Encoder()).train(steps=20)
