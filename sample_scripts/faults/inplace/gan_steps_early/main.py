"""Train a small GAN: the discriminator steps before the generator's backward has used its weights."""

import torch
from networks import Discriminator, Generator
from training import Trainer

torch.manual_seed(0)
trainer = Trainer(Generator(), Discriminator())
data = torch.utils.data.DataLoader(torch.randn(16, 2), batch_size=8)
for _ in range(2):
    for real in data:
        trainer.step(real)
print("trained")
