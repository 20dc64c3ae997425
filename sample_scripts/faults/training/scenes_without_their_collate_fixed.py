"""Counts what stands in a scene, from its boxes: as many as there are."""
# as in https://www.codetd.com/en/article/15901728

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    def __init__(self, count):
        self.scenes = [torch.rand(1 + index % 5, 4) for index in range(count)]

    def __len__(self):
        return len(self.scenes)

    def __getitem__(self, index):
        return self.scenes[index], len(self.scenes[index])


def padding_collate(scenes):
    boxes, counts = zip(*scenes, strict=True)
    return pad_sequence(boxes, batch_first=True), torch.tensor(counts)


torch.manual_seed(0)
trained = DataLoader(Scenes(24), batch_size=6, collate_fn=padding_collate)
held = DataLoader(Scenes(12), batch_size=6, collate_fn=padding_collate)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for boxes, counts in trained:
    loss = nn.functional.mse_loss(model(boxes).sum((1, 2)), counts.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print([round(one, 1) for boxes, _ in held for one in model(boxes).sum((1, 2)).tolist()])
