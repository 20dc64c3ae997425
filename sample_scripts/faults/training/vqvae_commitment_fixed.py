"""VQ-VAE on short waves whose encoder outputs wander off from the codebook, the printed commitment only grows."""
# as in https://github.com/lucidrains/vector-quantize-pytorch/issues/23

import torch
import torch.nn.functional as F
from torch import nn


class Quantizer(nn.Module):
    def __init__(self, codes, dim, beta):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        idx = torch.cdist(z, self.codebook.weight).argmin(-1)
        q = self.codebook(idx)
        commit = self.beta * F.mse_loss(z, q.detach())
        codebook = F.mse_loss(q, z.detach())
        return z + (q - z).detach(), codebook, commit


class VQVAE(nn.Module):
    def __init__(self, length=32, patch=8, dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, 16, patch, stride=patch), nn.GELU(), nn.Conv1d(16, dim, 1))
        self.quantizer = Quantizer(16, dim, beta=0.5)
        self.decoder = nn.Sequential(nn.Conv1d(dim, 16, 1), nn.GELU(), nn.ConvTranspose1d(16, 1, patch, stride=patch))

    def training_step(self, x, log):
        z = self.encoder(x).transpose(1, 2)
        q, codebook, commit = self.quantizer(z)
        loss = codebook + commit
        recon = F.mse_loss(self.decoder(q.transpose(1, 2)), x)
        loss = recon + loss
        log.append((recon.item(), codebook.item(), commit.item()))
        return loss


def waves(n, length=32):
    t = torch.arange(length) / length
    freq = torch.randint(1, 4, (n, 1))
    phase = torch.rand(n, 1)
    return torch.sin(6.2832 * (freq * t + phase))[:, None]


torch.manual_seed(0)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
log = []
for step in range(80):
    optimizer.zero_grad()
    model.training_step(waves(48), log).backward()
    optimizer.step()
    if step % 20 == 19:
        print("step %d recon %.4f codebook %.4f commitment %.4f" % (step + 1, *log[-1]))
