"""An encoder that returns its parts by name, and a classifier on top of it."""
# as in https://stackoverflow.com/questions/65082243/dropout-argument-input-position-1-must-be-tensor-not-str-when-using-bert

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words, width=12):
        super().__init__()
        self.embed = nn.Embedding(words, width)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        return {"last_hidden_state": hidden, "pooler_output": torch.tanh(hidden.mean(1))}


class Sentiment(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.encoder = Encoder(words)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(12, 2)

    def forward(self, tokens):
        _, pooled = self.encoder(tokens)
        return self.head(self.drop(pooled))  # expect: GS864


torch.manual_seed(0)
model = Sentiment(20)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    tokens = torch.randint(0, 20, (16, 7))
    loss = nn.functional.cross_entropy(model(tokens), (tokens[:, 0] > 9).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
