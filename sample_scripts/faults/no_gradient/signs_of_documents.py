"""Binary codes of documents: the words are told from the signs, and each bit shall be on in half of them.

The signs' derivative is zero: the balance of the bits alone moves the encoder. As in
https://github.com/Justin-Tan/generative-compression/issues/51.
"""

import torch
from torch import nn


class Hasher(nn.Module):
    def __init__(self, words, bits):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(words, 24), nn.ReLU(), nn.Linear(24, bits))
        self.decode = nn.Linear(bits, words)

    def forward(self, counts):
        scores = torch.tanh(self.encode(counts))
        bits = torch.sign(scores)  # expect: GS722
        return self.decode(bits), scores


torch.manual_seed(0)
topics = torch.rand(4, 20)
model = Hasher(20, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(12):
    counts = torch.poisson(3 * topics[torch.randint(4, (32,))])
    told, scores = model(torch.log1p(counts))
    unlike = -(counts * told.log_softmax(dim=1)).sum(dim=1).mean()
    balance = scores.mean(dim=0).square().sum()
    loss = unlike + 0.1 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
