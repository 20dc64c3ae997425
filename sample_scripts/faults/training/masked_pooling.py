"""GRU classifier over title and body with masked mean pooling.

Empty bodies make 0/0 in the branch that torch.where throws away, so GradScaler skips every step.

torch.where does not protect the backward: https://github.com/pytorch/pytorch/issues/156212
"""

import torch
from torch import nn


def masked_mean(h, mask):
    total = (h * mask.unsqueeze(-1)).sum(1)
    count = mask.sum(1, keepdim=True)
    return torch.where(count > 0, total / count, torch.zeros_like(total))  # expect: GS731


class DocClassifier(nn.Module):
    def __init__(self, vocab=30, d=16, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.fc = nn.Linear(2 * d, classes)

    def forward(self, title, title_mask, body, body_mask):
        ht, _ = self.gru(self.emb(title))
        hb, _ = self.gru(self.emb(body))
        return self.fc(torch.cat([masked_mean(ht, title_mask), masked_mean(hb, body_mask)], 1))


def make_batch(n=24):
    y = torch.randint(0, 3, (n,))
    title = torch.randint(0, 10, (n, 5)) + 10 * y[:, None]
    body = torch.randint(0, 30, (n, 12))
    lengths = torch.randint(0, 13, (n,))
    lengths[0] = 0
    body_mask = (torch.arange(12)[None] < lengths[:, None]).float()
    return title, torch.ones(n, 5), body, body_mask, y


class Trainer:
    def __init__(self):
        self.model = DocClassifier()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(self, batch):
        *inputs, y = batch
        loss = nn.functional.cross_entropy(self.model(*inputs), y)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)  # expect: GS822
        self.scaler.update()
        return loss.item()

    def run(self, n_steps=32):
        for i in range(1, n_steps + 1):
            loss = self.step(make_batch())
            if i % 8 == 0:
                print(f"[{i:3d}/{n_steps}] loss={loss:.4f}")


torch.manual_seed(0)
Trainer().run()
