"""A small GAN on points: the generator first, then the discriminator, cleared in the wrong place."""
# as in https://github.com/GaParmar/img2img-turbo/issues/56

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for _ in range(6):
    real, noise = torch.randn(32, 2) + 2, torch.randn(32, 4)
    fake = generator(noise)
    of_generator.zero_grad()
    criterion(judge(fake), ones).backward()  # expect: GS849 cause_at
    of_generator.step()

    loss = criterion(judge(real), ones) + criterion(judge(fake.detach()), zeros)
    loss.backward()  # expect: GS849 used_at
    of_judge.step()
    of_judge.zero_grad()  # expect: GS849
