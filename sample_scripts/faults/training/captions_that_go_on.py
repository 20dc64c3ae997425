"""A captioner leaves padding out by ignore_index, which is the id of the end as well."""

# as in https://github.com/huggingface/blog/issues/1302
import torch
from torch import nn

BOS, EOS = 0, 1
PAD = EOS  # expect: GS858


class Captioner(nn.Module):
    def __init__(self, words, width=12):
        super().__init__()
        self.image, self.words = nn.Linear(6, width), nn.Embedding(words, width)
        self.cell, self.out = nn.GRU(width, width, batch_first=True), nn.Linear(width, words)

    def forward(self, image, words):
        states, _ = self.cell(self.words(words), self.image(image)[None])
        return self.out(states)


def caption(words, longest=6):
    return torch.tensor([BOS, *words, EOS] + [PAD] * (longest - len(words)))


torch.manual_seed(0)
captions = torch.stack([caption([2, 5, 7]), caption([3, 4]), caption([2, 6, 8, 9]), caption([3])])
images = torch.randn(4, 6)
model, criterion = Captioner(11), nn.CrossEntropyLoss(ignore_index=PAD)  # expect: GS858 masked_by
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(8):
    scores = model(images, captions[:, :-1])
    loss = criterion(scores.transpose(1, 2), captions[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
