"""Vanilla recurrent network that regresses a summary of a sensor trace.

As in https://github.com/jihunchoi/recurrent-batch-normalization-pytorch/issues/5.
"""

import torch
from torch import nn


class RecurrentCell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.w_in = nn.Parameter(torch.empty(n_hidden, n_in))
        self.w_rec = nn.Parameter(torch.empty(n_hidden, n_hidden))
        self.bias = nn.Parameter(torch.zeros(n_hidden))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.w_in)
        nn.init.orthogonal_(self.w_rec)

    def forward(self, x, hidden):
        return torch.tanh(x @ self.w_in.t() + hidden @ self.w_rec.t() + self.bias)


class TraceModel(nn.Module):
    def __init__(self, n_in=2, n_hidden=64):
        super().__init__()
        self.n_hidden = n_hidden
        self.cell = RecurrentCell(n_in, n_hidden)
        self.out = nn.Linear(n_hidden, 1)

    def forward(self, traces):
        hidden = traces.new_zeros(len(traces), self.n_hidden)
        for t in range(traces.shape[1]):
            hidden = self.cell(traces[:, t], hidden)
        return self.out(hidden)


class TraceData:
    """Noisy traces with a clock channel; the target summarises the closing samples."""

    def __init__(self, length=50, seed=29):
        self.gen = torch.Generator().manual_seed(seed)
        self.length = length

    def batch(self, size):
        value = torch.randn(size, self.length, generator=self.gen)
        clock = torch.linspace(-1, 1, self.length).expand(size, self.length)
        target = value[:, -6:].mean(dim=1, keepdim=True) * 6**0.5
        return torch.stack([0.5 * value, clock], dim=-1), target


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        x, y = data.batch(256)
        error = nn.functional.mse_loss(model(x), y).item()
    model.train()
    return error


def main(steps=10, size=64):
    torch.manual_seed(37)
    data = TraceData()
    held_out = TraceData(seed=30)
    model = TraceModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        x, y = data.batch(size)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step:3d} mse {loss.item():.4f}")
    print("held-out mse", round(evaluate(model, held_out), 4))


if __name__ == "__main__":
    main()
