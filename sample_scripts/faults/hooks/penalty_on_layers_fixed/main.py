"""Train with a balance between the gradients of two layers' outputs."""

import torch
from balance import layer_gradients
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(3, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    early = first(batch).tanh()
    late = second(early).tanh()
    late.register_hook(lambda gradient: 2 * gradient)
    loss = late.square().mean()
    print([gradient.shape for gradient in layer_gradients(loss, early, late)])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
