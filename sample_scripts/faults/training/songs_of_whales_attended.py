"""Tells whales by their songs: the attention over a song drops links while the songs of validation are heard as well.

As in https://github.com/facebookresearch/vjepa2/pull/160.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Listener(nn.Module):
    def __init__(self, width=16, whales=4, dropped=0.25):
        super().__init__()
        self.dropped = dropped
        self.mixed, self.whale = nn.Linear(width, 3 * width), nn.Linear(width, whales)

    def forward(self, song):
        asked, keys, heard = self.mixed(song).chunk(3, -1)
        seen = F.scaled_dot_product_attention(asked, keys, heard, dropout_p=self.dropped)  # expect: GS856
        return self.whale(seen.mean(1))


@torch.no_grad()
def told_apart(listener, songs, whales):
    listener.eval()
    right = (listener(songs).argmax(1) == whales).float().mean().item()
    listener.train()
    return right


torch.manual_seed(0)
songs = torch.randn(40, 6, 16)
whales = songs[:, 0, :4].argmax(1)
listener = Listener()
optimizer = torch.optim.Adam(listener.parameters(), lr=0.01)
for _ in range(3):
    for some, these in zip(songs[:32].split(8), whales[:32].split(8), strict=True):
        loss = F.cross_entropy(listener(some), these)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(told_apart(listener, songs[32:], whales[32:]))
