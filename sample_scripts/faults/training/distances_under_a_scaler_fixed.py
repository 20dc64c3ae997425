"""Energy model on pairwise distances, trained with loss scaling.

https://github.com/pytorch/pytorch/issues/187297
"""

import torch
from torch import nn


def pair_distance(pos):
    diff = pos.unsqueeze(1) - pos.unsqueeze(2)
    d2 = diff.pow(2).sum(-1)
    return torch.where(d2 > 0, torch.sqrt(torch.where(d2 > 0, d2, torch.ones_like(d2))), torch.zeros_like(d2))


class EnergyModel(nn.Module):
    def __init__(self, atoms=6, dim=3, rbf=12):
        super().__init__()
        self.refine = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, dim))
        self.register_buffer("centers", torch.linspace(0, 4, rbf))
        self.filter = nn.Sequential(nn.Linear(rbf, 24), nn.SiLU(), nn.Linear(24, 1))
        self.register_buffer("off_diag", 1 - torch.eye(atoms))

    def forward(self, pos):
        pos = pos + 0.1 * self.refine(pos)
        d = pair_distance(pos)
        basis = torch.exp(-((d.unsqueeze(-1) - self.centers) ** 2) * 4)
        e = self.filter(basis).squeeze(-1) * self.off_diag
        return e.sum((1, 2)) / 2


def molecules(n, g):
    pos = torch.randn(n, 6, 3, generator=g)
    d = torch.cdist(pos, pos) + 10 * torch.eye(6)
    energy = ((1 - torch.exp(-(d - 1.2))) ** 2 * (d < 5)).sum((1, 2)) / 2
    return pos, (energy - 8) / 4


class AmpTrainer:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

    def step(self, pos, energy):
        loss = nn.functional.mse_loss(self.model(pos), energy)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(2)
    trainer = AmpTrainer(EnergyModel())
    seen = []
    for step in range(50):
        seen.append(trainer.step(*molecules(64, g)))
        if step % 10 == 9:
            print(f"step {step:3d} loss {sum(seen[-10:]) / 10:.4f}")


if __name__ == "__main__":
    main()
