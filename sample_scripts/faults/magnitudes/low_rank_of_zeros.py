"""A frozen classifier of sensor signals learns a new sensor through a correction of low rank.

As in https://github.com/Lightning-AI/litgpt/issues/1229.
"""

import torch
from torch import nn


class Corrected(nn.Module):
    def __init__(self, layer, rank=2):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.narrow = nn.Parameter(torch.zeros(layer.in_features, rank))  # expect: GS890
        self.widen = nn.Parameter(torch.zeros(rank, layer.out_features))  # expect: GS890 declared_at

    def forward(self, x):
        return self.layer(x) + 0.5 * (x @ self.narrow @ self.widen)  # expect: GS890 called_at


def main():
    torch.manual_seed(0)
    model = nn.Sequential(Corrected(nn.Linear(12, 16)), nn.Tanh(), Corrected(nn.Linear(16, 3)))
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    for _ in range(20):
        x = torch.randn(32, 12)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
