"""Water levels of wells: the encoder joins when the head has settled, right before a step.

As in https://github.com/allenai/rslearn/issues/217.
"""

import torch
from torch import nn

torch.manual_seed(2)
rain = torch.randn(120, 7, 3)
level = rain.cumsum(dim=1)[:, -1, :1] * 0.4 + 0.1 * torch.randn(120, 1)


class Wells(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(3, 12, batch_first=True)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        return self.head(self.encoder(x)[0][:, -1])


def join(optimizer, module):
    optimizer.add_param_group({"params": list(module.parameters()), "lr": 0.01})  # expect: GS715 cause_at


model = Wells()
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.05)
settled = 9
for step in range(24):
    optimizer.zero_grad()  # expect: GS715
    if step == settled:
        join(optimizer, model.encoder)
    loss = nn.functional.mse_loss(model(rain), level)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
