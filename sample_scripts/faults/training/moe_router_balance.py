"""Mixture of experts for tabular regression whose router sends most rows to few experts despite the balancing loss."""
# as in https://github.com/OpenSparseLLMs/MoM/issues/2

import torch
import torch.nn.functional as F
from torch import nn

EXPERTS = 4


class MoE(nn.Module):
    def __init__(self, d_in, hidden=16):
        super().__init__()
        self.router = nn.Linear(d_in, EXPERTS)
        nn.init.normal_(self.router.weight, std=1.0)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, 1)) for _ in range(EXPERTS)
        )

    def forward(self, x):
        gate = torch.softmax(self.router(x), dim=-1)
        out = torch.cat([expert(x) for expert in self.experts], dim=-1)
        share = F.one_hot(gate.argmax(-1), EXPERTS).float().mean(0)
        balance = EXPERTS * (share * gate.mean(0)).sum()
        return (gate * out).sum(-1), balance, share


def rows(n):
    x = torch.randn(n, 5) + torch.tensor([1.5, 0.0, 0.0, 0.0, 0.0])
    y = torch.where(x[:, 0] > 1.5, x[:, 1] * x[:, 2], x[:, 3].abs()) + 0.05 * torch.randn(n)
    return x, y


def train(model, steps, coef):
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    for step in range(1, steps + 1):
        x, y = rows(128)
        pred, balance, share = model(x)
        loss = F.mse_loss(pred, y)
        loss.add(coef * balance)  # expect: GS841
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            fractions = " ".join(f"{s:.2f}" for s in share.tolist())
            print(f"step {step} loss {loss.item():.4f} balance {balance.item():.3f} experts {fractions}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train(MoE(5), steps=80, coef=0.5)
