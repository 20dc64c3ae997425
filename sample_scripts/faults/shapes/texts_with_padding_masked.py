"""Padded texts through one layer of attention, the padding masked."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, words=30, width=16, classes=3):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=32, dropout=0.0)  # expect: GS861
        self.classify = nn.Linear(width, classes)

    def forward(self, ids):
        padding = ids == 0
        x = self.layer(self.words(ids), src_key_padding_mask=padding)  # expect: GS861 fails_at
        kept = (~padding)[..., None].float()
        return self.classify((x * kept).sum(1) / kept.sum(1))


def texts(count):
    ids = torch.randint(1, 30, (count, 7))
    lengths = torch.randint(3, 8, (count, 1))
    return ids.masked_fill(torch.arange(7) >= lengths, 0), ids[:, 0] % 3


def main():
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(8):
        ids, labels = texts(12)
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
