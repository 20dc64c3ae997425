"""Twin critics of one size with an optimizer each; in their step the policy's gradients are measured."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


def critic():
    return nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
critics = [critic(), critic()]
optimizers = [torch.optim.Adam(one.parameters(), lr=3e-3) for one in critics]
for _ in range(30):
    state = torch.randn(64, 4)
    action = policy(state)
    reward = -(action.detach() - state[:, :1]).square()
    given = torch.cat([state, action.detach() + 0.2 * torch.randn(64, 1)], 1)
    reward = -(given[:, 4:] - state[:, :1]).square()
    policy_optimizer.zero_grad()
    (-critics[0](torch.cat([state, action], 1)).mean()).backward()
    policy_optimizer.step()
    for one in optimizers:
        one.zero_grad(set_to_none=True)
    (critics[0](given) - reward).square().mean().backward()
    (critics[1](given) - reward).square().mean().backward()
    seen = clip_grad_norm_(policy.parameters(), float("inf"))
    clip_grad_norm_(critics[0].parameters(), 1.0)
    optimizers[0].step()
    clip_grad_norm_(critics[1].parameters(), 1.0)
    optimizers[1].step()
print(f"policy's gradient {seen:.3f}")
