"""A generator of points in a ring and its critic, in one object that keeps what is drawn in a step."""
# as in https://github.com/KupynOrest/DeblurGAN/pull/91

import torch
from torch import nn
from torch.nn import functional as F


class Critic(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class Pair:
    def __init__(self):
        self.draw, self.critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)), Critic()
        self.draws = torch.optim.Adam(self.draw.parameters(), lr=1e-3)
        self.criticizes = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def take(self, real):
        self.real, self.drawn = real, self.draw(torch.randn(len(real), 4))

    def criticize(self):
        scores = self.critic(self.drawn)  # expect: GS711
        loss = F.softplus(scores).mean() + F.softplus(-self.critic(self.real)).mean()
        loss.backward()

    def improve(self):
        F.softplus(-self.critic(self.drawn)).mean().backward()  # expect: GS711 second_backward_at

    def step(self, real):
        self.take(real)
        self.criticizes.zero_grad()
        self.criticize()
        self.criticizes.step()
        self.draws.zero_grad()
        self.improve()
        self.draws.step()


def main():
    torch.manual_seed(0)
    pair = Pair()
    for _ in range(6):
        turn = 6.28 * torch.rand(32)
        pair.step(torch.stack([turn.cos(), turn.sin()], 1))


if __name__ == "__main__":
    main()
