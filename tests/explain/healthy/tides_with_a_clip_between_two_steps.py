"""Two optimizers share a backward; the gradients of the second are clipped behind the first one's step.

In front of its own step they are clipped all the same: a line between the two, and a hook behind the first.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)

encoder, head, decoder = nn.Linear(8, 32), nn.Linear(32, 2), nn.Linear(32, 8)
main = [*encoder.parameters(), *head.parameters()]


def trained(in_a_hook, steps=40):
    of_main, of_decoder = torch.optim.SGD(main, lr=0.1), torch.optim.SGD(decoder.parameters(), lr=0.05)
    if in_a_hook:
        of_decoder.register_step_post_hook(lambda *_: nn.utils.clip_grad_norm_(main, 0.1))
    for step in range(steps):
        heights = torch.randn(32, 8)
        rises = (heights[:, 0] > heights[:, 1]).long()
        hidden = encoder(heights).relu()
        loss = F.cross_entropy(head(hidden), rises) + 0.1 * F.mse_loss(decoder(hidden), heights)
        loss.backward()
        of_decoder.step()
        if not in_a_hook:
            nn.utils.clip_grad_norm_(main, 0.1)
        of_decoder.zero_grad()
        of_main.step()
        of_main.zero_grad()
        if step % 10 == 9:
            print(f"step {step + 1} loss {loss.item():.4f}")


trained(in_a_hook=False)
trained(in_a_hook=True)
