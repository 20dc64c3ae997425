"""Tiny causal language model in a Trainer class which freezes early at a bad loss.

LambdaLR with max(0, ...) counts epochs but is stepped after every batch.

Related: https://github.com/pytorch/tutorials/pull/640
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


class TinyLM(nn.Module):
    def __init__(self, vocab=16, dim=32, ctx=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(ctx, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)
        self.register_buffer("mask", torch.triu(torch.full((ctx, ctx), float("-inf")), 1))

    def forward(self, ids):
        t = ids.size(1)
        h = self.emb(ids) + self.pos(torch.arange(t))
        return self.lm_head(self.block(h, src_mask=self.mask[:t, :t]))


class Trainer:
    def __init__(self, model, epochs, lr):
        self.model, self.epochs = model, epochs
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)
        self.sched = LambdaLR(self.opt, lambda e: max(0.0, 1.0 - e / epochs))
        self.ce = nn.CrossEntropyLoss()

    def batch_loss(self, ids):
        logits = self.model(ids[:, :-1])
        return self.ce(logits.flatten(0, 1), ids[:, 1:].flatten())

    def fit(self, batches):
        for epoch in range(self.epochs):
            epoch_loss = 0.0
            for ids in batches:
                self.opt.zero_grad()
                loss = self.batch_loss(ids)
                loss.backward()
                self.opt.step()
                self.sched.step()  # expect: GS805
                epoch_loss += loss.item() / len(batches)
            print(f"epoch {epoch}: loss {epoch_loss:.4f}")


def counting_batches(n, size=16, length=13, vocab=16):
    start = torch.randint(0, vocab, (n, size, 1))
    stride = torch.randint(1, 4, (n, size, 1))
    return list((start + stride * torch.arange(length)) % vocab)


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(TinyLM(), epochs=5, lr=5e-3).fit(counting_batches(7))
