"""Word vectors are tuned, and held near to those they began with. As in https://github.com/cornellius-gp/gpytorch/issues/2302."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vectors, tags=3):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
        self.tag = nn.Linear(vectors.shape[1], tags)

    def forward(self, words):
        return self.tag(self.words(words).mean(1))


if __name__ == "__main__":
    torch.manual_seed(0)
    vectors = torch.randn(40, 8)
    tagger = Tagger(vectors)
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.01)
    for _ in range(12):
        words = torch.randint(0, 40, (32, 5))
        loss = nn.functional.cross_entropy(tagger(words), words.sum(1) % 3)
        loss = loss + 0.1 * (tagger.words.weight - vectors).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
