"""Word vectors that came from elsewhere and were not to be touched by a small sentiment model."""

import torch
from torch import nn


def vectors(words=30, width=8):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(words, width, generator=generator)


class Sentiment(nn.Module):
    def __init__(self, pretrained, train_vectors=False):
        super().__init__()
        self.table = nn.Embedding(*pretrained.shape)
        self.table.weight.data.copy_(pretrained)
        self.table.requires_grad_(False)
        self.gru = nn.GRU(pretrained.shape[1], 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, ids):
        _, last = self.gru(self.table(ids))
        return self.out(last[-1]).squeeze(1)


def train(model, steps=40):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005)
    judge = nn.BCEWithLogitsLoss()
    for step in range(steps):
        ids = torch.randint(0, 30, (16, 9))
        liked = ((ids < 10).sum(1) > 3).float()
        optimizer.zero_grad()
        loss = judge(model(ids), liked)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(2)
    model = Sentiment(vectors())
    train(model)
    print("vectors that changed", int((model.table.weight != vectors()).any(1).sum()), "of 30")
