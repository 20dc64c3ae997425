"""Denoising autoencoder put into half precision by model.half() with the old lr of 1e-7 kept.

In float16 every update rounds away and the parameters stay as they were.
"""

import torch
from torch import nn


class DenoisingAE(nn.Module):
    def __init__(self, d=24, k=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, k))
        self.decoder = nn.Sequential(nn.Linear(k, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class AETrainer:
    def __init__(self, model, lr=0.5, sigma=0.1):
        self.model = model.float()
        self.sigma = sigma
        self.optim = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.history = []

    def step(self, clean):
        noisy = clean + self.sigma * torch.randn_like(clean)
        recon = self.model(noisy)
        loss = (recon.float() - clean).pow(2).mean()
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.history.append(loss.item())

    def fit(self, data, steps, batch_size=32):
        for s in range(steps):
            idx = torch.randperm(len(data))[:batch_size]
            self.step(data[idx])
            if (s + 1) % 10 == 0:
                last = self.history[-10:]
                print("step %d mean loss %.4f" % (s + 1, sum(last) / len(last)))


def main():
    torch.manual_seed(0)
    basis = torch.randn(4, 24)
    data = torch.tanh(torch.randn(256, 4) @ basis)
    AETrainer(DenoisingAE()).fit(data, steps=40)


if __name__ == "__main__":
    main()
