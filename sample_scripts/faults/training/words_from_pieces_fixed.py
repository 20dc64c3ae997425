"""Vectors of words, put together from those of their pieces, for a tagger."""

import torch
from torch import nn

PIECES, WORDS = 24, 9


class Tagger(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.out = nn.Sequential(nn.Linear(width, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, pieces, word):
        made = self.embed(pieces)
        words = made.new_zeros(WORDS, made.shape[1])
        words.index_add_(0, word, made / 3)
        return self.out(words)


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    pieces = torch.randint(0, 50, (PIECES,))
    word = torch.cat((torch.arange(WORDS), torch.randint(0, WORDS, (PIECES - WORDS,)))).sort()[0]
    wanted = torch.zeros(WORDS, dtype=torch.long).index_add(0, word, pieces) % 3
    loss = nn.functional.cross_entropy(model(pieces, word), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
