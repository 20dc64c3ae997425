"""The loop: the discriminator learns first, then the generator."""

import torch
from networks import squared_distance


def train(generator, discriminator, data, epochs):
    of_generator = torch.optim.Adam(generator.parameters())
    of_discriminator = torch.optim.Adam(discriminator.parameters())
    for _ in range(epochs):
        for real in data:
            fake = generator(torch.randn(len(real), 4))
            judged_real = squared_distance(discriminator(real), 1.0)
            judged_fake = squared_distance(discriminator.layers(fake.detach()), 0.0)
            update(of_discriminator, judged_real + judged_fake)
            update(of_generator, squared_distance(discriminator(fake), 1.0))


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
