"""A character model whose averaged weights, which are saved in the end, are those of the first day."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the quick brown dog "
CHARS = sorted(set(TEXT))


class CharRNN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, len(CHARS))

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def batches(count, size=16, length=12):
    ids = torch.tensor([CHARS.index(one) for one in TEXT * 4])
    for _ in range(count):
        start = torch.randint(0, len(ids) - length - 1, (size,))
        rows = torch.stack([ids[at : at + length + 1] for at in start.tolist()])
        yield rows[:, :-1], rows[:, 1:]


def build(config):
    model = CharRNN()
    learned = list(model.parameters())
    if config["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(learned, lr=config["lr"])
    else:
        optimizer = torch.optim.Adam(learned, lr=config["lr"])
    shadow = copy.deepcopy(model).requires_grad_(False)

    def average(decay=0.9):
        for mine, one in zip(shadow.parameters(), learned, strict=False):
            mine.mul_(decay).add_(one.detach(), alpha=1 - decay)

    return model, optimizer, shadow, average


def main():
    torch.manual_seed(1)
    model, optimizer, shadow, average = build({"optimizer": "adam", "lr": 0.01})
    for step, (ids, following) in enumerate(batches(50)):
        loss = F.cross_entropy(model(ids).transpose(1, 2), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    apart = sum((a - b).norm() for a, b in zip(model.parameters(), shadow.parameters(), strict=True))
    print(f"the average is {apart.item():.2f} away from the weights")


if __name__ == "__main__":
    main()
