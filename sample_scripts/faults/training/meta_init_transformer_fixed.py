"""Transformer for cloze gaps made on the meta device that has more parameters once its weights are filled in."""
# as in https://github.com/Modalities/modalities/issues/357

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

MASK = 0


class ClozeModel(nn.Module):
    def __init__(self, vocab=16, d=24):
        super().__init__()
        self.tokens = nn.Embedding(vocab, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.unembed = nn.Linear(d, vocab, bias=False)
        self.unembed.weight = self.tokens.weight

    def forward(self, x):
        return self.unembed(self.norm(self.layer(self.tokens(x))))


def count(model):
    return sum(p.numel() for p in model.parameters())


def exported_weights():
    """Arrays by name, as a downloaded file would have them"""
    source = ClozeModel()
    with torch.no_grad():
        source.tokens.weight.mul_(0.2)
    return {name: np.array(t.numpy()) for name, t in source.state_dict().items()}


def cloze_batch(n=32, length=6):
    x = torch.randint(1, 16, (n, 1)).expand(n, length).clone()
    target = x[:, 0].clone()
    x[torch.arange(n), torch.randint(0, length, (n,))] = MASK
    return x, target


def main():
    torch.manual_seed(0)
    weights = {name: torch.from_numpy(a) for name, a in exported_weights().items()}
    with torch.device("meta"):
        model = ClozeModel()
    before = count(model)
    model.load_state_dict(weights, assign=True)
    model.unembed.weight = model.tokens.weight
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, 41):
        x, target = cloze_batch()
        logits = model(x)[x == MASK]
        loss = F.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"parameters {before} -> {count(model)}")


if __name__ == "__main__":
    main()
