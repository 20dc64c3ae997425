"""A pool of earlier samples, detached for the critic, is what the maker is scored on, too. As in https://github.com/nikhilsinghmus/image2reverb/issues/37."""

import torch
import torch.nn.functional as F
from torch import nn


class Pool:
    def __init__(self, size=128):
        self.size, self.kept = size, []

    def mixed(self, made):
        self.kept = [*self.kept, *made.detach()][-self.size :]
        return torch.stack(self.kept[-len(made) :])


class Pair:
    def __init__(self):
        self.maker = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1))
        self.pool = Pool()
        self.of_maker = torch.optim.Adam(self.maker.parameters(), lr=1e-3)
        self.of_critic = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def step(self, given, wanted):
        made = self.maker(given)
        past = self.pool.mixed(made)
        judged = F.softplus(-self.critic(wanted)).mean() + F.softplus(self.critic(past)).mean()
        self.of_critic.zero_grad()
        judged.backward()
        self.of_critic.step()

        fooled = F.softplus(-self.critic(made)).mean()
        near = (made - wanted).abs().mean()
        self.of_maker.zero_grad()
        (near + 0.1 * fooled).backward()
        self.of_maker.step()
        return judged.item(), near.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    pair = Pair()
    for _ in range(40):
        given = torch.randn(32, 3)
        judged, near = pair.step(given, torch.stack([given.sum(1), given[:, 0]], 1))
    print(f"critic {judged:.3f}, distance {near:.3f}")
