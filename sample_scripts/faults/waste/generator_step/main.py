"""A GAN whose generator step computes the discriminator's gradients, which are then cleared."""

import torch
from nets import discriminator, generator
from torch import nn

torch.manual_seed(0)
loss = nn.BCEWithLogitsLoss()
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)
for _ in range(4):
    fake = generator(torch.randn(4, 2))
    discriminator_optimizer.zero_grad()
    real_score, fake_score = discriminator(torch.randn(4, 3)), discriminator(fake.detach())
    (loss(real_score, ones) + loss(fake_score, zeros)).backward()
    discriminator_optimizer.step()

    generator_optimizer.zero_grad()
    loss(discriminator(fake), ones).backward()  # expect: GS781
    generator_optimizer.step()
