"""Values of states are learnt from rewards that come as columns, as values do.

As in https://github.com/pytorch/pytorch/issues/16045.
"""

import torch
from torch import nn

DISCOUNT = 0.9


def transitions(generator, count=32):
    state = torch.rand(count, 3, generator=generator)
    following = (state + 0.1 * torch.randn(count, 3, generator=generator)).clamp(0, 1)
    reward = state[:, :1] - 0.5 * state[:, 1:2]
    return state, reward, following


def error(net, slow, state, reward, following):
    with torch.no_grad():
        future = slow(following)
    return reward + DISCOUNT * future - net(state)


def main(steps=60):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    net, slow = (nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in range(2))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(steps):
        wrong = error(net, slow, *transitions(generator))
        loss = torch.where(wrong.abs() < 1, 0.5 * wrong**2, wrong.abs() - 0.5).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            slow.load_state_dict(net.state_dict())
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
