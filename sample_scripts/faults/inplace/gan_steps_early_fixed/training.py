"""The training step of both."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy


class Trainer:
    def __init__(self, generator, discriminator):
        self.generator, self.discriminator = generator, discriminator
        self.generator_optimizer = torch.optim.Adam(generator.parameters())
        self.discriminator_optimizer = torch.optim.Adam(discriminator.parameters())

    def step(self, real):
        fake = self.generator(len(real))
        judged = self.discriminator(fake)
        loss = cross_entropy(judged, torch.zeros(len(real)))
        loss = loss + cross_entropy(self.discriminator(real), torch.ones(len(real)))
        self.update(self.discriminator_optimizer, loss, retain_graph=True)
        judged = self.discriminator(fake)
        self.update(self.generator_optimizer, cross_entropy(judged, torch.ones(len(real))))

    def update(self, optimizer, loss, **options):
        optimizer.zero_grad()
        loss.backward(**options)
        optimizer.step()
