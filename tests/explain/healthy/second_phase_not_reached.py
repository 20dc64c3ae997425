"""All optimizers are cleared in each step; the one of the second phase has not begun, one net is updated by hand."""

import torch
from torch import nn

torch.manual_seed(0)
body, head, refined = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
optimizers = {
    "body": torch.optim.SGD(body.parameters(), lr=0.05),
    "head": torch.optim.SGD(head.parameters(), lr=0.05),
    "refined": torch.optim.SGD(refined.parameters(), lr=0.05),
}
for step in range(30):
    x = torch.randn(32, 4)
    hidden = torch.tanh(body(x))
    given = head(hidden) if step < 500 else refined(hidden)
    for one in optimizers.values():
        one.zero_grad()
    loss = (given.squeeze(1) - x[:, 0]).square().mean()
    loss.backward()
    optimizers["body"].step()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter -= 0.05 * parameter.grad
print(f"loss {loss.item():.3f}")
