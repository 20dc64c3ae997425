"""A small encoder whose width is a setting."""
# as in https://github.com/facebookresearch/detr/issues/499

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        mixed, _ = self.attention(x, x, x)
        return self.head(mixed.mean(1))


def main():
    torch.manual_seed(0)
    model = Encoder(30, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(6):
        x = torch.randn(8, 5, 30)
        loss = nn.functional.cross_entropy(model(x), (x.mean((1, 2)) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
