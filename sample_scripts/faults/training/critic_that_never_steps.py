"""An adversarial pair; the critic has an optimizer, which clears its gradients and never steps. As in https://github.com/zhaoyuzhi/DeblurGANv2-MobileNetv123-PyTorch/issues/7."""

import torch
import torch.nn.functional as F
from torch import nn


class Pair:
    def __init__(self):
        self.maker = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
        self.critic = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1))
        self.of_maker = torch.optim.Adam(self.maker.parameters(), lr=2e-3)
        self.of_critic = torch.optim.Adam(self.critic.parameters(), lr=2e-3)

    def criticise(self, real, made):
        self.of_critic.zero_grad()
        loss = F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(made.detach())).mean()
        loss.backward()  # expect: GS804
        return loss.item()

    def make(self, noise):
        made = self.maker(noise)
        self.critic.requires_grad_(False)
        loss = F.softplus(-self.critic(made)).mean()
        self.critic.requires_grad_(True)
        self.of_maker.zero_grad()
        loss.backward()
        self.of_maker.step()
        return made


if __name__ == "__main__":
    torch.manual_seed(0)
    pair = Pair()
    for _ in range(40):
        made = pair.make(torch.randn(64, 4))
        loss = pair.criticise(torch.randn(64, 2) * 0.2 + 1, made)
    print(f"critic {loss:.3f}")
