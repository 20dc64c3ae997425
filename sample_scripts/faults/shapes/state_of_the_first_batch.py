"""A tagger keeps the state of its recurrent network from one batch to the next."""
# as in https://programmerah.com/runtimeerror-expected-hidden0-size-x-x-x-gotx-x-x-39265/

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self, words=20, width=12, tags=3, batch=8):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.tags = nn.Linear(width, tags)
        self.state = torch.zeros(1, batch, width)

    def forward(self, ids):
        states, last = self.read(self.words(ids), self.state)  # expect: GS863
        self.state = last.detach()
        return self.tags(states)


def main():
    torch.manual_seed(0)
    ids = torch.randint(0, 20, (28, 6))
    loader = DataLoader(TensorDataset(ids, ids % 3), batch_size=8)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for words, tags in loader:
            loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
