"""Train a recurrent model on chunks of a sequence."""

import torch
from model import Reader

torch.manual_seed(0)
model = Reader(width=4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
chunks = torch.randn(24, 1, 4).split(6)
state = None
for _ in range(2):
    for chunk in chunks:
        optimizer.zero_grad()
        out, state = model(chunk, state)  # expect: GS712
        loss = (out - chunk).square().mean()
        loss.backward()  # expect: GS712 second_backward_at
        optimizer.step()
print("trained")
