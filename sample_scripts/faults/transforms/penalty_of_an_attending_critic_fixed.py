"""A discriminator with attention gets an R1 penalty, which differentiates its derivative."""

# as in https://github.com/yhZhai/mcm/issues/11
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel


class Discriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.patches = nn.Linear(4, width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.score = nn.Linear(width, 1)

    def forward(self, x):
        h = self.patches(x)
        with sdpa_kernel(SDPBackend.MATH):
            mixed, _ = self.attention(h, h, h, need_weights=False)
        return self.score(torch.tanh(h + mixed)).mean((1, 2))


def penalty(discriminator, real):
    real = real.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(discriminator(real).sum(), real, create_graph=True)
    return gradient.square().sum((1, 2)).mean()


torch.manual_seed(0)
discriminator = Discriminator()
optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
for step in range(6):
    real, fake = torch.randn(6, 9, 4), torch.rand(6, 9, 4)
    loss = nn.functional.softplus(-discriminator(real)).mean() + nn.functional.softplus(discriminator(fake)).mean()
    if step % 4 == 3:
        loss = loss + 5 * penalty(discriminator, real)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
