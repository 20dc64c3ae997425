"""Guesses the next word by the table of all words, whose lengths the lookup bounds with max_norm."""
# as in https://github.com/pytorch/pytorch/issues/26596

import torch
from torch import nn

WORDS = 30


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 8, max_norm=1.0)  # expect: GS701 declared_at
        self.cell = nn.GRUCell(8, 8)

    def forward(self, text):
        state, guesses = torch.zeros(len(text), 8), []
        for word in text.unbind(1):
            guesses.append(state @ self.words.weight.t())  # expect: GS701
            state = self.cell(self.words(word), state)  # expect: GS701 modified_at
        return torch.stack(guesses, 2)


torch.manual_seed(0)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=1e-2)
for _ in range(4):
    text = torch.randint(WORDS, (6, 1)) + torch.arange(5)
    loss = nn.functional.cross_entropy(reader(text % WORDS), text % WORDS)
    optimizer.zero_grad()
    loss.backward()  # expect: GS701 fails_at
    optimizer.step()
