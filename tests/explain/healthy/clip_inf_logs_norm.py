"""The gradient norm is only logged.

After the step clip_grad_norm_ is called with inf, which returns the norm and changes nothing.
"""

import torch
from torch import nn

torch.manual_seed(0)


class LSTMTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.out(h)


model = LSTMTagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
log = []

for step in range(30):
    x = torch.randint(0, 20, (24, 9))
    y = (x > x.roll(1, dims=1)).long()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    log.append((loss.item(), grad_norm.item()))
    if step % 6 == 5:
        print("step %d loss %.4f grad norm %.4f" % (step + 1, *log[-1]))
