"""A judge and a price begin late; their gradients are cleared by the module, by hand, and by a hook of the step."""

import torch
from torch import nn

torch.manual_seed(0)
maker, judge, price = nn.Linear(6, 5), nn.Linear(5, 1), nn.Parameter(torch.zeros(()))
scale = nn.Parameter(torch.ones(()))
of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
of_price, of_scale = torch.optim.SGD([price], lr=0.01), torch.optim.SGD([scale], lr=0.01)
of_scale.register_step_post_hook(lambda optimizer, *_: optimizer.zero_grad())
for number in range(60):
    noise = torch.randn(16, 6)
    data = noise[:, :5].sin()
    made = maker(noise)
    of_maker.zero_grad()
    loss = (made - data).square().mean()
    if number >= 20:
        loss = loss + 0.1 * (1 - judge(made)).square().mean() + 0.1 * price.detach().exp() * made.square().mean()
    loss.backward()
    of_maker.step()
    if number >= 20:
        judge.zero_grad()
        (1 - judge(data)).square().mean().backward()
        judge(made.detach()).square().mean().backward()
        of_judge.step()
        price.grad = None
        (-price.exp() * (made.detach().square().mean() - 0.2)).backward()
        of_price.step()
        (made.detach() * scale - data).square().mean().backward()
        of_scale.step()
