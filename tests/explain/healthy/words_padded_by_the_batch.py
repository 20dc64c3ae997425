"""Texts of different lengths, which a collate function pads."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.arange(1, 3 + index % 4), index % 2


def padded(samples):
    texts, labels = zip(*samples, strict=True)
    return pad_sequence(texts, batch_first=True), torch.tensor(labels)


torch.manual_seed(0)
model = nn.Sequential(nn.EmbeddingBag(9, 4, padding_idx=0), nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(2):
    for x, y in DataLoader(Texts(), batch_size=3, collate_fn=padded):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
