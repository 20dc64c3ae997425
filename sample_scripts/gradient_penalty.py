"""Train a Wasserstein critic with a gradient penalty: a backward through a gradient (double backward)."""

import torch
from torch import nn

STEPS = 15
BATCH = 32
PENALTY = 10.0


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(2, 32)
        self.hidden2 = nn.Linear(32, 32)
        self.score = nn.Linear(32, 1)

    def forward(self, points):
        x = torch.tanh(self.hidden1(points))
        x = torch.nn.functional.softplus(self.hidden2(x))
        return self.score(x).squeeze(1)


def gradient_penalty(critic, real, fake):
    """How far the critic's slope is from one, between real and fake points."""
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    scores = critic(between)
    (slope,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def main():
    torch.manual_seed(1701)
    torch.set_num_threads(1)
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for step in range(STEPS):
        real = torch.randn(BATCH, 2) + torch.tensor([2.0, 0.0])
        fake = torch.randn(BATCH, 2)
        distance = critic(fake).mean() - critic(real).mean()
        penalty = gradient_penalty(critic, real, fake)
        loss = distance + PENALTY * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step} loss {loss.item():.6f} penalty {penalty.item():.6f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
