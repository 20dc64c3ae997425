"""The auxiliary loss is computed for the log and left out of the sum."""

import torch
from network import Network
from torch import nn

torch.manual_seed(0)
network = Network()
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for step in range(4):
    x, y, aux = torch.randn(4, 5), torch.randn(4, 1), torch.randn(4, 2)
    out, aux_out = network(x)
    main_loss = nn.functional.mse_loss(out, y)
    aux_loss = nn.functional.mse_loss(aux_out, aux)  # expect: GS726
    loss = main_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
