"""Train a small GAN whose discriminator loss reaches into the generator."""

import torch
from networks import Discriminator, Generator
from training import train

torch.manual_seed(0)
data = torch.utils.data.DataLoader(torch.randn(16, 2), batch_size=8)
train(Generator(), Discriminator(), data, epochs=2)
print("trained")
