"""A generator's output is made once and used in each of two generator steps: the second meets changed weights."""

import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.tail = nn.Linear(4, 16), nn.Linear(16, 8)

    def forward(self, noise, before):
        return torch.tanh(self.tail(torch.relu(self.head(noise)))) + before


torch.manual_seed(0)
generator, critic = Generator(), nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(generator.parameters(), 1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), 1e-3)
before = torch.zeros(8)
for number in range(9):
    fake = generator(torch.randn(16, 4), before)  # expect: GS712
    critic_optimizer.zero_grad()
    (critic(fake.detach()).mean() - critic(torch.randn(16, 8)).mean()).backward()
    critic_optimizer.step()
    for _ in range(1 if number < 6 else 2):
        optimizer.zero_grad()
        loss = -critic(fake).mean()
        loss.backward(inputs=list(generator.parameters()), retain_graph=True)  # expect: GS712 second_backward_at
        optimizer.step()
