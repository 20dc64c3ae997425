"""What recurrent layers give, put together in ways that keep the samples apart."""

import torch
from torch import nn

torch.manual_seed(0)
read = nn.GRU(3, 5, 2, batch_first=True, bidirectional=True)
out = nn.Linear(6 * 10 + 4 * 5, 1)
optimizer = torch.optim.Adam([*read.parameters(), *out.parameters()], lr=1e-2)
for _ in range(15):
    x = torch.randn(8, 6, 3)
    hidden, state = read(x)
    by_layer = state.view(2, 2, 8, 5)
    assert by_layer.shape[2] == len(x)
    features = torch.cat((hidden.reshape(8, -1), state.permute(1, 0, 2).reshape(8, -1)), 1)
    loss = nn.functional.mse_loss(out(features), x.sum((1, 2)).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
