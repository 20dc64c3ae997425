"""Cuts a text into chunks of letters, and guesses the letter after each."""
# as in https://github.com/rasbt/LLMs-from-scratch/issues/365

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TEXT = "the moon is over the hill and the fox is under the moon " * 6


class Chunks(Dataset):
    def __init__(self, text, length):
        self.letters = sorted(set(text))
        ids = [self.letters.index(letter) for letter in text]
        self.given = []
        self.wanted = []
        for begin in range(0, len(ids) - length, length):
            given = ids[begin : begin + length]
            wanted = ids[begin + 1 : begin + length]  # expect: GS862
            self.given.append(torch.tensor(given))
            self.wanted.append(torch.tensor(wanted))

    def __len__(self):
        return len(self.given)

    def __getitem__(self, number):
        return self.given[number], self.wanted[number]


def loss_of(model, given, wanted):
    scores = model(given)
    return nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())  # expect: GS862 fails_at


def main():
    torch.manual_seed(0)
    chunks = Chunks(TEXT, length=9)
    model = nn.Sequential(nn.Embedding(len(chunks.letters), 16), nn.Linear(16, len(chunks.letters)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for given, wanted in DataLoader(chunks, batch_size=4, shuffle=True):
        loss = loss_of(model, given, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
