"""Char-level LSTM whose loss jumps around although the gradients are clipped to 0.25.

The clipping comes after optimizer.step().

Same mix-up as in https://github.com/jongwook/onsets-and-frames/issues/24
"""

import torch
from torch import nn

torch.manual_seed(0)

text = "the quick brown fox jumps over the lazy dog and runs away again " * 20
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

seq_len = 24
batch = 16
hidden = 32


class CharLSTM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.out(h)


def get_batch():
    ix = torch.randint(0, len(data) - seq_len - 1, (batch,))
    x = torch.stack([data[i : i + seq_len] for i in ix])
    y = torch.stack([data[i + 1 : i + seq_len + 1] for i in ix])
    return x, y


model = CharLSTM(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0, momentum=0.9)

for it in range(40):
    x, y = get_batch()
    optimizer.zero_grad()
    logits = model(x)
    loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)  # expect: GS820
    if it % 8 == 0:
        print(f"iter {it:3d}  loss {loss.item():.4f}")

print("final loss", round(loss.item(), 4))
