"""Train a GAN with two optimizers on eight Gaussians in a circle; the generator's output serves both backward calls."""

import math

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 20
BATCH = 64
NOISE = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(NOISE, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, noise):
        return self.layers(noise)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2))
        self.score = nn.Linear(32, 1)

    def forward(self, points):
        return self.score(self.layers(points)).squeeze(1)


def sample_real(count):
    """Points around a circle of radius two."""
    angles = torch.randint(8, (count,)) * (2 * math.pi / 8)
    centres = 2 * torch.stack([angles.cos(), angles.sin()], dim=1)
    return centres + 0.05 * torch.randn(count, 2)


def main():
    torch.manual_seed(2014)
    torch.set_num_threads(1)
    generator, discriminator = Generator(), Discriminator()
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    ones, zeros = torch.ones(BATCH), torch.zeros(BATCH)

    for step in range(STEPS):
        fake = generator(torch.randn(BATCH, NOISE))

        # The discriminator learns from a detached copy: its backward must stop before the generator.
        real_loss = F.binary_cross_entropy_with_logits(discriminator(sample_real(BATCH)), ones)
        fake_loss = F.binary_cross_entropy_with_logits(discriminator(fake.detach()), zeros)
        discriminator_loss = real_loss + fake_loss
        discriminator_optimizer.zero_grad()
        discriminator_loss.backward()
        discriminator_optimizer.step()

        # The generator learns through the discriminator's new weights.
        generator_loss = F.binary_cross_entropy_with_logits(discriminator(fake), ones)
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()

        if step % 5 == 4:
            losses = f"discriminator {discriminator_loss.item():.6f} generator {generator_loss.item():.6f}"
            print(f"step {step} {losses}")
    print(f"final loss {(discriminator_loss + generator_loss).item():.9f}")


if __name__ == "__main__":
    main()
