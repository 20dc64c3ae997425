"""Retention-time regression for short peptides with an LSTM.

As in https://github.com/ProteomicsML/ProteomicsML/pull/203.
"""

import torch
from torch import nn

RESIDUES = 20


def make_peptides(n=800, length=9, seed=71):
    gen = torch.Generator().manual_seed(seed)
    peptides = torch.randint(0, RESIDUES, (n, length), generator=gen)
    hydrophobic = torch.linspace(-1.0, 1.0, RESIDUES)
    score = hydrophobic[peptides].sum(dim=1) + 0.1 * torch.randn(n, generator=gen)
    minutes = 35.0 + 6.0 * score
    return peptides, minutes


class TargetScaler:
    """Express minutes relative to the gradient end of the run."""

    def __init__(self, minutes):
        self.end = minutes.max()
        self.spread = minutes.std()

    def transform(self, minutes):
        return ((minutes - self.end) / self.spread).unsqueeze(1)

    def inverse(self, scaled):
        return scaled.squeeze(1) * self.spread + self.end


class RetentionNet(nn.Module):
    def __init__(self, dim=16, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(RESIDUES, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, peptides):
        _, (last, _) = self.lstm(self.embed(peptides))
        return self.head(last.squeeze(0))


def median_error(net, scaler, peptides, minutes):
    net.eval()
    with torch.no_grad():
        predicted = scaler.inverse(net(peptides))
    net.train()
    return (predicted - minutes).abs().median().item()


def main(steps=40, batch=40):
    torch.manual_seed(15)
    peptides, minutes = make_peptides()
    scaler = TargetScaler(minutes[:640])
    targets = scaler.transform(minutes)
    net = RetentionNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    for step in range(steps):
        pick = torch.randint(0, 640, (batch,))
        optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(net(peptides[pick]), targets[pick])
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    error = median_error(net, scaler, peptides[640:], minutes[640:])
    print(f"median error {error:.2f} min")


if __name__ == "__main__":
    main()
