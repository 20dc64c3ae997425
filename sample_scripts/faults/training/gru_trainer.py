"""GRU sentiment toy in a Trainer class, rewritten from Keras in one evening.

The train step forgets zero_grad altogether.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TinyGRU(nn.Module):
    def __init__(self, vocab=50, emb=16, hid=24, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.gru = nn.GRU(emb, hid, batch_first=True)
        self.head = nn.Linear(hid, classes)

    def forward(self, tokens):
        _, h = self.gru(self.emb(tokens))
        return self.head(h[-1])


class Trainer:
    def __init__(self, model, lr=2e-3, clip=1.0):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()
        self.clip = clip
        self.history = []

    def train_step(self, tokens, labels):
        logits = self.model(tokens)
        loss = self.loss_fn(logits, labels)
        loss.backward()  # expect: GS801
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        return loss.item(), (logits.argmax(1) == labels).float().mean().item()

    def fit(self, loader, epochs):
        for ep in range(epochs):
            self.model.train()
            losses, accs = [], []
            for tokens, labels in loader:
                l, a = self.train_step(tokens, labels)
                losses.append(l)
                accs.append(a)
            self.history.append(sum(losses) / len(losses))
            print(f"[{ep}] loss={self.history[-1]:.3f} acc={sum(accs) / len(accs):.3f}")


def make_data(n=192, length=12, vocab=50):
    tokens = torch.randint(0, vocab, (n, length))
    labels = ((tokens < vocab // 2).sum(1) > length // 2).long()
    return TensorDataset(tokens, labels)


if __name__ == "__main__":
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    Trainer(TinyGRU()).fit(loader, epochs=5)
