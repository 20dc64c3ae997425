"""Which of four shelves is emptied first, from counts of what was sold.

As in https://github.com/pytorch/pytorch/issues/31396.
"""

import torch
from torch import nn

SHELVES, GOODS = 4, 40


def make_sales(n=512):
    gen = torch.Generator().manual_seed(4)
    sold = torch.poisson(torch.rand(n, GOODS, generator=gen) * 900.0, generator=gen)
    first = sold.view(n, SHELVES, -1).sum(-1).argmax(-1)
    return sold.log1p() - 5.0, nn.functional.one_hot(first, SHELVES).float()


class ShelfModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(GOODS, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(GOODS + hidden, SHELVES)
        self.share = nn.Softmax(dim=-1)

    def forward(self, sold):
        return self.share(self.head(torch.cat([sold, self.body(sold)], dim=-1)))


def main(steps=100, batch=64):
    torch.manual_seed(2)
    sold, first = make_sales()
    model = ShelfModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step in range(steps):
        pick = torch.randperm(len(sold))[:batch]
        loss = nn.functional.mse_loss(model(sold[pick]), first[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
