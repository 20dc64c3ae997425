"""A curve through measured tides is fitted by LBFGS, whose closure hands back the loss of before."""

# as in https://github.com/NeuroDiffGym/neurodiffeq/issues/83
import torch
from torch import nn

torch.manual_seed(0)
curve = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.LBFGS(curve.parameters(), lr=0.5, max_iter=10)
hours = torch.linspace(0, 6, 40)[:, None]
tide = hours.sin()
for round_of_fit in range(5):

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(curve(hours), tide)
        loss.backward()
        return loss

    print(optimizer.step(closure).item())
