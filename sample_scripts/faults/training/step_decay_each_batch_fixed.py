"""Caption-like decoder trained with cross entropy, step decay over epochs.

https://github.com/aimagelab/meshed-memory-transformer/issues/71
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


class Decoder(nn.Module):
    def __init__(self, feat=16, vocab=14, d=40):
        super().__init__()
        self.init = nn.Linear(feat, d)
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, feat, words):
        h0 = torch.tanh(self.init(feat)).unsqueeze(0)
        return self.out(self.rnn(self.emb(words), h0)[0])


def lambda_lr(epoch):
    return 0.8**epoch


def train_xe(model, dataloader, optim, scheduler):
    model.train()
    running = 0.0
    for feat, captions in dataloader:
        out = model(feat, captions[:, :-1])
        optim.zero_grad()
        loss = F.cross_entropy(out.flatten(0, 1), captions[:, 1:].flatten())
        loss.backward()
        optim.step()
        running += loss.item()
    scheduler.step()
    return running / len(dataloader)


@torch.no_grad()
def evaluate_loss(model, feat, captions):
    model.eval()
    out = model(feat, captions[:, :-1])
    return F.cross_entropy(out.flatten(0, 1), captions[:, 1:].flatten()).item()


def caption_data(n, seed=0, length=7):
    g = torch.Generator().manual_seed(seed)
    feat = torch.randn(n, 16, generator=g)
    w = torch.randn(16, 12, generator=torch.Generator().manual_seed(42))
    order = (feat @ w).argsort(1, descending=True)[:, :length] + 2
    return feat, torch.cat([torch.ones(n, 1, dtype=torch.long), order], 1)


def main():
    torch.manual_seed(0)
    train = TensorDataset(*caption_data(480, 1))
    loader = DataLoader(train, batch_size=32, shuffle=True)
    val = caption_data(200, 2)
    model = Decoder()
    optim = torch.optim.Adam(model.parameters(), lr=8e-3)
    scheduler = LambdaLR(optim, lambda_lr)
    for epoch in range(5):
        tr = train_xe(model, loader, optim, scheduler)
        print(f"epoch {epoch} train {tr:.4f} val {evaluate_loss(model, *val):.4f}")


if __name__ == "__main__":
    main()
