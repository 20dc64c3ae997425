"""Transformer layer fully converted to bfloat16 to save memory and trained with lr 1e-6.

Each update is smaller than the rounding of the weight and nothing changes.

The rounding is explained in https://github.com/pytorch/ao/pull/1124
"""

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class TokenTagger(nn.Module):
    def __init__(self, vocab=40, d=16, tags=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, tags)

    def forward(self, x):
        return self.out(self.layer(self.emb(x)))


x = torch.randint(0, 40, (96, 8))
y = x % 4

model = TokenTagger()
# stand-in for the downloaded checkpoint
for p in model.parameters():
    p.data = 0.15 * torch.sign(torch.randn_like(p)) * (0.5 + torch.rand_like(p))
model = model.to(torch.float32)

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)

for epoch in range(6):
    running = 0.0
    for i in range(0, 96, 16):
        xb, yb = x[i : i + 16], y[i : i + 16]
        optimizer.zero_grad()
        logits = model(xb)
        loss = loss_fn(logits.float().flatten(0, 1), yb.flatten())
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch + 1}  loss {running / 6:.4f}")
