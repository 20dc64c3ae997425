"""The features of a convolution over a spectrogram become rows for a GRU without their time being moved."""

# as in https://github.com/vitrioil/Speech-Separation/issues/4
import torch
from torch import nn


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.rnn = nn.GRU(4 * 6, 10, batch_first=True)
        self.out = nn.Linear(10, 3)

    def forward(self, x):
        z = torch.relu(self.conv(x))
        batch, channels, time, bands = z.shape
        z = z.reshape(batch, time, channels * bands)  # expect: GS855
        return self.out(self.rnn(z)[0][:, -1])


torch.manual_seed(0)
model = Recogniser()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(4):
    x, label = torch.randn(5, 1, 9, 6), torch.randint(0, 3, (5,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), label).backward()
    optimizer.step()
