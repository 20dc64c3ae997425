"""Where an elevator is to wait: each choice is weighed with the errors of the values of all states.

As in https://github.com/MorvanZhou/pytorch-A3C/issues/5.
"""

import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
        self.choice, self.value = nn.Linear(32, 6), nn.Linear(32, 1)

    def loss(self, calls, floors, waits):
        hidden = self.body(calls)
        error = waits - self.value(hidden)
        chosen = torch.distributions.Categorical(logits=self.choice(hidden))
        actor = -(chosen.log_prob(floors) * error.detach())  # expect: GS808
        return (actor + error.pow(2)).mean()


torch.manual_seed(0)
model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(15):
    calls, floors = torch.rand(20, 5), torch.randint(0, 6, (20,))
    loss = model.loss(calls, floors, -calls.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
