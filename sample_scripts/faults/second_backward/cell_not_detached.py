"""Between windows of a long series the hidden state of an LSTM is detached, its cell is not."""

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(2, 6, batch_first=True), nn.Linear(6, 1)
        self.state = None

    def end_of_window(self):
        hidden, cell = self.state
        self.state = (hidden.detach(), cell)  # expect: GS712

    def forward(self, x):
        features, self.state = self.rnn(x, self.state)  # expect: GS712 shared_at
        return self.out(features)


torch.manual_seed(0)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(4):
    x = torch.randn(3, 5, 2)
    loss = (model(x) - x.sum(2, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()  # expect: GS712 second_backward_at
    optimizer.step()
    model.end_of_window()
