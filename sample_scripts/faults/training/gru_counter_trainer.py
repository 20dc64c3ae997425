"""GRU first-bit toy with a trainer that accumulates over 8 batches.

The counter is set back to 0 in each epoch and an epoch has only 6 batches, so the optimizer never steps.
"""

import torch
from torch import nn


class FirstBit(nn.Module):
    def __init__(self, hid=20):
        super().__init__()
        self.rnn = nn.GRU(1, hid, batch_first=True)
        self.fc = nn.Linear(hid, 2)

    def forward(self, bits):
        out, _ = self.rnn(bits.unsqueeze(-1))
        return self.fc(out[:, -1])


class Trainer:
    def __init__(self, model, accumulate=8):
        self.model = model
        self.accumulate = accumulate
        self.pending = 0
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.loss_fn = nn.CrossEntropyLoss()

    def run_epoch(self, batches):
        self.pending = 0
        total = 0.0
        for bits, target in batches:
            loss = self.loss_fn(self.model(bits), target)
            (loss / self.accumulate).backward()
            self.pending += 1
            total += loss.item()
            if self.pending == self.accumulate:  # expect: GS804
                self.opt.step()
                self.opt.zero_grad()
                self.pending = 0
        return total / len(batches)


def make_batches(n_batches=6, size=16, length=5):
    out = []
    for _ in range(n_batches):
        bits = torch.randint(0, 2, (size, length)).float()
        out.append((bits, bits[:, 0].long()))
    return out


def main():
    torch.manual_seed(0)
    batches = make_batches()
    trainer = Trainer(FirstBit())
    for epoch in range(16):
        loss = trainer.run_epoch(batches)
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d} loss {loss:.5f}")
    hit = sum((trainer.model(b).argmax(1) == t).sum().item() for b, t in batches)
    print("correct:", hit, "of", sum(len(t) for _, t in batches))


if __name__ == "__main__":
    main()
