"""A tagger of bird calls is put to rest for its validation, and woken again by the helper that scores a batch."""

# as in https://github.com/pliang279/MultiBench/issues/26
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.ears = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(4))
        self.name = nn.Sequential(nn.Flatten(), nn.Dropout(0.4), nn.Linear(32, 5))

    def forward(self, sound):
        return self.name(self.ears(sound))


def score(tagger, sound, bird):
    return nn.functional.cross_entropy(tagger(sound), bird)


def validate(tagger, batches):
    tagger.eval()
    with torch.no_grad():
        return sum(score(tagger, *batch).item() for batch in batches)


torch.manual_seed(0)
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=1e-3)
batches = [(torch.randn(6, 1, 40), torch.randint(5, (6,))) for _ in range(6)]
for season in range(3):
    tagger.train()
    for batch in batches[:4]:
        optimizer.zero_grad()
        score(tagger, *batch).backward()
        optimizer.step()
    print(validate(tagger, batches[4:]))
