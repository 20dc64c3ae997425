"""Parameters in bfloat16 whose optimizer keeps what it rounds away and adds it later: few elements change in a step."""

import torch
from torch import nn


class CompensatedAdam(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["square"], state["rest"] = torch.zeros_like(p).float(), torch.zeros_like(p).float()
                square = state["square"].mul_(0.99).addcmul_(p.grad.float(), p.grad.float(), value=0.01)
                wanted = p.float() + state["rest"] - group["lr"] * p.grad.float() / (square.sqrt() + 1e-8)
                p.copy_(wanted)
                state["rest"] = wanted - p.float()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.Tanh(), nn.Linear(32, 4)).to(torch.bfloat16)
optimizer = CompensatedAdam(model.parameters(), lr=1e-5)
for _ in range(40):
    x = torch.randn(64, 8)
    loss = nn.functional.cross_entropy(model(x.bfloat16()).float(), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
