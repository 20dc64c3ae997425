"""Physics-informed fit of u'' = -u: Adam first, then LBFGS; the frequency has its own optimiser."""

import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
        self.k = nn.Parameter(torch.tensor(0.5))

    def forward(self, t):
        return self.net(t)


def residual(model, t):
    t = t.clone().requires_grad_(True)
    u = model(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
    return d2u + model.k * u


def objective(model, t, tobs, uobs):
    return residual(model, t).pow(2).mean() + 10 * (model(tobs) - uobs).pow(2).mean()


def main():
    torch.manual_seed(0)
    model = PINN()
    t = torch.linspace(0, 4, 40).unsqueeze(1)
    tobs = torch.linspace(0, 4, 12).unsqueeze(1)
    uobs = torch.sin(tobs)
    adam = torch.optim.Adam(model.net.parameters(), lr=1e-2)
    adam_k = torch.optim.SGD([model.k], lr=2e-2)
    for step in range(80):
        loss = objective(model, t, tobs, uobs)
        adam.zero_grad()
        adam_k.zero_grad()
        loss.backward()
        adam.step()
        if step % 2:
            adam_k.step()
        if step % 20 == 19:
            print(f"adam step {step:3d} loss {loss.item():.5f} k {model.k.item():.3f}")

    lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, history_size=10, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        value = objective(model, t, tobs, uobs)
        value.backward()
        return value

    for step in range(12):
        loss = lbfgs.step(closure)
        if step % 4 == 3:
            print(f"lbfgs step {step:3d} loss {loss.item():.6f} k {model.k.item():.3f}")


if __name__ == "__main__":
    main()
