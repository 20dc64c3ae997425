"""The next word of a dialect: the table grows by new words, and the scores go on with the old one.

As in https://github.com/huggingface/transformers/issues/1730.
"""

import torch
from torch import nn

WORDS, NEW, WIDTH = 30, 6, 12


class NextWord(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.lm_head = nn.Linear(WIDTH, WORDS, bias=False)
        self.tie_weights()

    def tie_weights(self):
        self.lm_head.weight = self.embed.weight  # expect: GS710 cause_at

    def resize(self, words):
        table = nn.Embedding(words, WIDTH)
        table.weight.data[:WORDS] = self.embed.weight.data
        self.embed = table  # expect: GS710

    def forward(self, text):
        return self.lm_head(self.mix(self.embed(text))[0])


torch.manual_seed(0)
model = NextWord()
model.resize(WORDS + NEW)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
text = torch.randint(0, WORDS + NEW, (64, 9))
following = (text * 7 + 3) % WORDS
for step in range(20):
    loss = nn.functional.cross_entropy(model(text).flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
