"""Train and capture the gradient of a hidden layer in each step."""

import torch
from network import Network

torch.manual_seed(0)
model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
print(len(model.captured))
