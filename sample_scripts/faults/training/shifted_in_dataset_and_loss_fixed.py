"""Small transformer on rows of a text: the dataset makes inputs and targets, and the loss shifts them once more."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LETTERS, BLOCK = 16, 20


class Rows(Dataset):
    def __init__(self, text):
        self.text = text

    def __len__(self):
        return len(self.text) // BLOCK - 1

    def __getitem__(self, row):
        piece = self.text[row * BLOCK : (row + 1) * BLOCK + 1]
        return piece[:-1], piece[1:]


class Small(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, dim), nn.Parameter(torch.zeros(BLOCK, dim))
        self.block = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, LETTERS)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.head(self.block(self.letters(x) + self.places[: x.shape[1]], src_mask=mask, is_causal=True))


def next_letter_loss(logits, target):
    return nn.functional.cross_entropy(logits.reshape(-1, LETTERS), target.reshape(-1))


torch.manual_seed(0)
text = (torch.arange(4000) * 5 + torch.arange(4000) // 7) % LETTERS
model = Small()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(2):
    for x, y in DataLoader(Rows(text), batch_size=16, shuffle=True):
        loss = next_letter_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
