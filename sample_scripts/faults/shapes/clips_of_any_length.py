"""Words spoken in clips of as many frames as they take."""
# as in https://iifx.dev/en/articles/321756070

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, count):
        self.labels = torch.arange(count) % 3
        self.clips = [torch.randn(8 + number % 7, 5) + self.labels[number] for number in range(count)]

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, number):
        clip = self.clips[number]
        clip = (clip - clip.mean()) / (clip.std() + 1e-5)
        return clip, self.labels[number]  # expect: GS839


def loader_of(clips, size):
    return DataLoader(clips, batch_size=size, shuffle=True)


def main():
    torch.manual_seed(0)
    read, head = nn.GRU(5, 8, batch_first=True), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*read.parameters(), *head.parameters()], lr=1e-2)
    for clips, labels in loader_of(Clips(64), 16):  # expect: GS839 fails_at
        loss = nn.functional.cross_entropy(head(read(clips)[1][-1]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
