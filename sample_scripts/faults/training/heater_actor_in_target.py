"""A heater learns when to run from a critic, whose slow copy tells what the next hour is worth."""

# as in https://github.com/pytorch/rl/issues/1187
import copy

import torch
import torch.nn.functional as F
from torch import nn

TAU = 0.1


def critic():
    return nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))


class House:
    """Inside and outside temperature; heat costs, and so does cold."""

    def __init__(self):
        self.chance = torch.Generator().manual_seed(1)

    def states(self, number):
        return torch.rand(number, 2, generator=self.chance)

    def after(self, state, heat):
        inside, outside = state.split(1, dim=1)
        warmer = (0.8 * inside + 0.2 * outside + 0.3 * heat).clamp(0, 1)
        return -((warmer - 0.7) ** 2) - 0.05 * heat, torch.cat([warmer, outside], dim=1)


def learn(house, actor, live, slow, of_actor, of_critic):
    state = house.states(64)
    heat = torch.rand(64, 1, generator=house.chance)
    reward, following = house.after(state, heat)
    of_actor.zero_grad()
    of_critic.zero_grad()
    worth = slow(torch.cat([following, actor(following)], dim=1))
    target = reward + 0.9 * worth  # expect: GS842
    loss = F.mse_loss(live(torch.cat([state, heat], dim=1)), target)
    loss.backward()
    of_critic.step()
    live.requires_grad_(False)
    (-live(torch.cat([state, actor(state)], dim=1)).mean()).backward()
    of_actor.step()
    live.requires_grad_(True)
    with torch.no_grad():
        for behind, ahead in zip(slow.parameters(), live.parameters(), strict=True):
            behind.mul_(1 - TAU).add_(TAU * ahead)
    return loss.item()


def main():
    torch.manual_seed(0)
    house = House()
    actor = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    live = critic()
    slow = copy.deepcopy(live).requires_grad_(False)
    of_actor = torch.optim.Adam(actor.parameters(), lr=3e-3)
    of_critic = torch.optim.Adam(live.parameters(), lr=1e-2)
    for step in range(40):
        loss = learn(house, actor, live, slow, of_actor, of_critic)
        if step % 10 == 9:
            print(f"step {step:2d} loss {loss:.4f}")


if __name__ == "__main__":
    main()
