"""A tagger's dropout is set to zero for its validation, layer by layer.

As in https://github.com/NVIDIA/Megatron-LM/pull/411.
"""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.body = nn.Sequential(nn.Dropout(0.4), nn.Linear(12, 24), nn.ReLU(), nn.Dropout(0.4))
        self.tag = nn.Linear(24, 3)

    def forward(self, tokens):
        return self.tag(self.body(self.embed(tokens)))


class Training:
    def __init__(self, model, tokens, tags):
        self.model, self.tokens, self.tags = model, tokens, tags
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def loss(self, rows):
        return nn.functional.cross_entropy(self.model(self.tokens[rows]).flatten(0, 1), self.tags[rows].flatten())

    def validate(self, rows):
        self.model.eval()
        for layer in self.model.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = 0.0  # expect: GS897
        with torch.no_grad():
            value = self.loss(rows).item()
        self.model.train()
        return value

    def epoch(self, rows):
        for some in rows[torch.randperm(len(rows))].split(16):
            loss = self.loss(some)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    tokens = torch.randint(0, 40, (96, 10))
    training = Training(Tagger(), tokens, (tokens + tokens.roll(1, 1)) % 3)
    for epoch in range(4):
        loss = training.epoch(torch.arange(64))
        print(f"{epoch}: {loss:.4f} {training.validate(torch.arange(64, 96)):.4f}")


main()
