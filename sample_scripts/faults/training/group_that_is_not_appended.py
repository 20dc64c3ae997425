"""Words are tagged by an encoder and a reader with a rate of their own. As in https://github.com/zjunlp/HVPNeT/issues/5."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words=40, tags=5):
        super().__init__()
        self.words = nn.Embedding(words, 16)
        self.encoder = nn.GRU(16, 16, batch_first=True)
        self.gate = nn.Linear(1, 16)
        self.reader = nn.Linear(16, tags)

    def forward(self, text, capitals):
        return self.reader(self.encoder(self.words(text))[0] * torch.sigmoid(self.gate(capitals[..., None])))


def optimizer_of(model, rate):
    groups = []
    group = {"lr": rate, "params": []}
    for name, parameter in model.named_parameters():
        if "words" in name or "encoder" in name or name.startswith("reader"):
            group["params"].append(parameter)
    groups.append(group)
    group = {"lr": 5 * rate, "params": []}  # expect: GS817
    for name, parameter in model.named_parameters():
        if name.startswith("gate"):
            group["params"].append(parameter)
    return torch.optim.AdamW(groups)


torch.manual_seed(0)
model = Tagger()
optimizer = optimizer_of(model, 2e-3)
for _ in range(25):
    text = torch.randint(40, (16, 8))
    capitals = (torch.rand(16, 8) < 0.3).float()
    loss = nn.functional.cross_entropy(model(text, capitals).transpose(1, 2), text % 4 + capitals.long())
    model.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
