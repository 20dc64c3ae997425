"""Pictures are told apart by their patches, with torch's own attention; keys and values are not turned."""
# as in https://github.com/zhouhaoyi/Informer2020/issues/59

import torch
import torch.nn.functional as F
from torch import nn


def patches(pictures, size=4):
    cut = pictures.unfold(2, size, size).unfold(3, size, size)
    return cut.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = self.qkv(self.norm(x)).split(width, dim=2)
        q, k, v = (one.reshape(b, self.heads, n, width // self.heads) for one in (q, k, v))  # expect: GS847
        y = F.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).contiguous().view(b, n, width)  # expect: GS847 called_at
        return x + self.out(y)


class Classifier(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Linear(3 * 4 * 4, width)
        self.blocks = nn.Sequential(Block(width, 2), Block(width, 2))
        self.head = nn.Linear(width, 4)

    def forward(self, pictures):
        return self.head(self.blocks(self.embed(patches(pictures))).mean(dim=1))


def main():
    torch.manual_seed(7)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(5):
        pictures, labels = torch.rand(6, 3, 12, 12), torch.randint(0, 4, (6,))
        loss = F.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
