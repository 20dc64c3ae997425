"""A mixture of bumps is fitted; after 60 steps it gets more bumps, and an optimizer of its own for them.

As in https://github.com/pytorch/pytorch/issues/140469.
"""

import torch


def bumps(mixture, places):
    apart = places[:, None] - mixture["centres"]
    return (mixture["heights"] * torch.exp(-8.0 * apart.square())).sum(1)


def split(mixture):
    """Each bump becomes two, side by side."""
    split_in_two = {}
    for name, values in mixture.items():
        shift = 0.05 if name == "centres" else -0.5 * values
        split_in_two[name] = torch.cat([values - shift, values + shift]).detach().requires_grad_()
    return split_in_two


def main(steps=120):
    torch.manual_seed(0)
    places = torch.linspace(0, 3, 90)
    wanted = torch.sin(3 * places) + 0.5 * torch.cos(7 * places)
    mixture = {"centres": torch.rand(4) * 3, "heights": torch.zeros(4)}
    for values in mixture.values():
        values.requires_grad_()
    optimizer = torch.optim.Adam(mixture.values(), lr=0.02)
    for step in range(steps):
        loss = (bumps(mixture, places) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == steps // 2:
            mixture = split(mixture)
            optimizer = torch.optim.Adam(mixture.values(), lr=0.02)
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
