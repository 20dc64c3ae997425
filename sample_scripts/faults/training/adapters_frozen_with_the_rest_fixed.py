"""A text classifier is adapted to another topic: only the low ranks and the new output are to learn.

As in https://github.com/microsoft/LoRA/pull/125.
"""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.base = nn.Linear(width, width)
        self.lora_a, self.lora_b = nn.Parameter(torch.randn(width, 4) * 0.1), nn.Parameter(torch.zeros(4, width))

    def forward(self, x):
        return self.base(x) + x @ self.lora_a @ self.lora_b


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layer, self.out = nn.EmbeddingBag(50, 16), Adapted(16), nn.Linear(16, 3)

    def forward(self, words):
        return self.out(self.layer(self.words(words)).relu())


def only_lora(model):
    for name, p in model.named_parameters():
        p.requires_grad = "lora_" in name


torch.manual_seed(0)
model = Text()
model.requires_grad_(False)
only_lora(model)
model.out = nn.Linear(16, 3)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
for _ in range(30):
    words = torch.randint(0, 50, (32, 8))
    loss = nn.functional.cross_entropy(model(words), words[:, 0] % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
