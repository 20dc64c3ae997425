"""A table of angles that grows while a long text is sampled in inference mode (Dao-AILab/flash-attention pull 299)."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Angles(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("rates", 0.1 ** (torch.arange(size).float() / size))
        self.table = torch.empty(0, size)

    def forward(self, x):
        if x.shape[1] > len(self.table):
            self.table = torch.outer(torch.arange(x.shape[1]).float(), self.rates).cos()
        return x * self.table[: x.shape[1]]


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.angles, self.head = nn.Embedding(11, 8), Angles(8), nn.Linear(8, 11)

    def forward(self, tokens):
        return self.head(self.angles(self.words(tokens)))


@torch.inference_mode()  # expect: GS723
def longest(model, length):
    return model(torch.randint(0, 11, (2, length))).argmax(-1)


model = Language()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(40):
    tokens = torch.randint(0, 11, (4, 9))
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 23 == 22:
        longest(model, 31)
print(f"loss {loss.item():.3f}")
