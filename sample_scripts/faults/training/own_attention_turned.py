"""An attention of one's own makes its heads of the first two dimensions the wrong way round."""

# as in https://github.com/IBM/TabFormer/pull/14
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.project = heads, nn.Linear(width, 3 * width)

    def forward(self, x):
        first, second, width = x.shape
        parts = self.project(x).view(first, second, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 1, 3, 0, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)  # expect: GS854
        return mixed.permute(2, 0, 1, 3).reshape(first, second, width)


torch.manual_seed(0)
embed, attention, head = nn.Embedding(30, 12), Attention(12, 3), nn.Linear(12, 2)
parameters = [*embed.parameters(), *attention.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for _ in range(5):
    words, label = torch.randint(0, 30, (16, 9)), torch.randint(0, 2, (16,))
    scores = head(attention(embed(words)).mean(1))
    optimizer.zero_grad()
    nn.functional.cross_entropy(scores, label).backward()
    optimizer.step()
