"""Two tables that start as copies of one another on purpose: of vectors trained before, or as a comment tells."""

import torch
from torch import nn

WORDS, WIDTH = 30, 8
VECTORS = torch.randn(WORDS, WIDTH, generator=torch.Generator().manual_seed(1))


class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        with torch.no_grad():
            self.words.weight.copy_(VECTORS)
        self.score = nn.Linear(WIDTH, WORDS)
        self.score.weight = nn.Parameter(self.words.weight.clone())

    def forward(self, word):
        return self.score(torch.tanh(self.words(word)))


class Untied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.score = nn.Linear(WIDTH, WORDS)
        # untied: the scores get a table of their own, which begins where the words do
        self.score.weight = nn.Parameter(self.words.weight.clone())

    def forward(self, word):
        return self.score(torch.relu(self.words(word)) + 1)


class Languages(nn.Module):
    """Two look-ups: what is read and what was written are two tables."""

    def __init__(self):
        super().__init__()
        self.read, self.written = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS, WIDTH)
        self.written.weight = nn.Parameter(self.read.weight.clone())
        self.score = nn.Linear(WIDTH, WORDS)

    def forward(self, word):
        return self.score(torch.tanh(self.read(word) + self.written(word.roll(1))))


class Ahead(nn.Module):
    """A table that is kept as it was drawn, to score against."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.score = nn.Linear(WIDTH, WORDS)
        self.score.weight = nn.Parameter(self.words.weight.clone(), requires_grad=False)

    def forward(self, word):
        return self.score(torch.tanh(self.words(word)))


torch.manual_seed(0)
for model in (Pretrained(), Untied(), Languages(), Ahead()):
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    for _ in range(8):
        word = torch.randint(WORDS, (32,))
        loss = nn.functional.cross_entropy(model(word), (word + 1) % WORDS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{type(model).__name__}: {loss.item():.3f}")
