"""A text classifier whose ids count from 1, because 0 pads: the last word has no row."""

# as in https://github.com/AnubhavGupta3377/Text-Classification-Models-Pytorch/issues/3
import torch
from torch import nn

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "road"]
IDS = {word: number for number, word in enumerate(WORDS, 1)}


class TextNet(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embeddings = nn.Embedding(words + 1, 8, padding_idx=0)
        self.conv, self.out = nn.Conv1d(8, 8, 2), nn.Linear(8, 2)

    def forward(self, x):
        embedded = self.embeddings(x).permute(0, 2, 1)
        return self.out(torch.relu(self.conv(embedded)).amax(2))


def batch(*sentences):
    rows = [[IDS[word] for word in sentence.split()] for sentence in sentences]
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


torch.manual_seed(0)
model = TextNet(len(IDS))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
texts = [
    batch("the cat sat on the mat", "a dog ran"),
    batch("the dog sat on a mat", "the cat ran"),
    batch("the dog ran on the road", "a cat sat"),
]
for text in texts:
    loss = nn.functional.cross_entropy(model(text), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
