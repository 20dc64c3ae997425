"""Two models that are made together and run one after the other, each with a part that no optimizer is given."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.neck, self.head = nn.Linear(6, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.neck(torch.tanh(self.stem(x)))))


def main():
    torch.manual_seed(0)
    models = [Net(), Net()]
    optimizers = [torch.optim.Adam([*m.stem.parameters(), *m.head.parameters()], lr=0.01) for m in models]
    for _ in range(20):
        x = torch.randn(32, 6)
        for model, optimizer in zip(models, optimizers, strict=True):
            loss = (model(x) - x[:, :2]).square().mean()
            model.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"{loss.item():.4f}")


main()
