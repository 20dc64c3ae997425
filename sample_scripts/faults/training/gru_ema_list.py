"""GRU language-model toy with an EMA over a plain list of detached parameters.

Detach() shares the memory, the average is updated in place on top of the live weights.
"""

import torch
from torch import nn


class ToyLM(nn.Module):
    def __init__(self, vocab=10, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, tokens):
        h, _ = self.gru(self.emb(tokens))
        return self.out(h)


class LMTrainer:
    def __init__(self, model, lr=1e-2, decay=0.95):
        self.model = model
        self.decay = decay
        self.params = list(model.parameters())
        self.ema_params = [p.detach() for p in self.params]  # expect: GS831
        self.opt = torch.optim.AdamW(self.params, lr=lr)

    def loss(self, seq):
        logits = self.model(seq[:, :-1])
        return nn.functional.cross_entropy(logits.transpose(1, 2), seq[:, 1:])

    @torch.no_grad()
    def update_ema(self):
        for shadow, p in zip(self.ema_params, self.params, strict=False):
            shadow.mul_(self.decay).add_(p, alpha=1.0 - self.decay)  # expect: GS831 edited_at

    def train(self, steps):
        for step in range(1, steps + 1):
            loss = self.loss(make_seqs(16))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.update_ema()
            if step % 9 == 0:
                gap = sum((s - p).abs().sum().item() for s, p in zip(self.ema_params, self.params, strict=False))
                print(f"step {step} loss {loss.item():.4f} |ema - model| {gap:.3f}")


def make_seqs(n, T=12):
    """counting sequences with a random stride of 1 or 2 and some typos"""
    start = torch.randint(0, 10, (n, 1))
    stride = torch.randint(1, 3, (n, 1))
    seq = (start + stride * torch.arange(T)) % 10
    typo = torch.rand(n, T) < 0.05
    return torch.where(typo, torch.randint(0, 10, (n, T)), seq)


if __name__ == "__main__":
    torch.manual_seed(0)
    LMTrainer(ToyLM()).train(36)
