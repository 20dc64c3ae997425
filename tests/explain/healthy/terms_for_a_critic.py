"""Losses with a term for a critic that its own optimizer uses, or that has a graph to the coder at times or in part."""

import torch
from torch import nn

STEPS = 24


def nets():
    coder, critic = nn.Linear(6, 4), nn.Linear(4, 1)
    return coder, critic, *(torch.optim.SGD(net.parameters(), lr=0.01) for net in (coder, critic))


def own_step(critic, critics, code):
    critics.zero_grad()
    critic(code.detach()).square().mean().backward()
    critics.step()


def for_both():
    """One loss, after which both step."""
    coder, critic, codes, critics = nets()
    for _ in range(STEPS):
        code = coder(torch.randn(16, 6))
        loss = code.square().mean() + (critic(code.detach()) - 1).square().mean()
        codes.zero_grad()
        critics.zero_grad()
        loss.backward()
        codes.step()
        critics.step()


def kept_for_it():
    """The critic's own loss adds to what the coder's has left for it."""
    coder, critic, codes, critics = nets()
    for _ in range(STEPS):
        code = coder(torch.randn(16, 6))
        loss = code.square().mean() + (critic(code.detach()) - 1).square().mean()
        loss.backward()
        codes.step()
        coder.zero_grad()
        critic(code.detach()).square().mean().backward()
        critics.step()
        critics.zero_grad()


def kept_now_and_then():
    """The critic's step uses what the coder's loss has left for it, each third time."""
    coder, critic, codes, critics = nets()
    for step in range(STEPS):
        code = coder(torch.randn(16, 6))
        loss = code.square().mean() + (critic(code.detach()) - 1).square().mean()
        codes.zero_grad()
        loss.backward()
        codes.step()
        if step % 3:
            critics.zero_grad()
        critic(code.detach()).square().mean().backward()
        critics.step()
        critics.zero_grad()


def at_first():
    """The coder learns from the critic once that has learned something itself."""
    coder, critic, codes, critics = nets()
    for step in range(STEPS):
        code = coder(torch.randn(16, 6))
        loss = code.square().mean() + (critic(code.detach() if step < 12 else code) - 1).square().mean()
        codes.zero_grad()
        loss.backward()
        codes.step()
        own_step(critic, critics, code)


def with_a_target():
    """The critic's aim is detached, what it is given is not."""
    coder, critic, codes, critics = nets()
    for _ in range(STEPS):
        code = coder(torch.randn(16, 6))
        loss = code.square().mean() + (critic(code) - code.detach().sum(1, keepdim=True)).square().mean()
        codes.zero_grad()
        loss.backward()
        codes.step()
        own_step(critic, critics, code)


def of_itself():
    """A number that is shown as a part of the loss: how the critic differs from itself on noise."""
    coder, critic, codes, critics = nets()
    for _ in range(STEPS):
        code, noise = coder(torch.randn(16, 6)), torch.randn(16, 4)
        loss = code.square().mean() + (critic(noise) - critic(noise).detach()).square().mean()
        codes.zero_grad()
        loss.backward()
        codes.step()
        own_step(critic, critics, code)


def of_signs():
    """A number that is shown as a part of the loss: how well the critic would tell a sign, which has no derivative."""
    coder, critic, codes, critics = nets()
    for _ in range(STEPS):
        code, noise = coder(torch.randn(16, 6)), torch.randn(16, 4)
        loss = code.square().mean() + (critic(noise) - (code[:, :1] > 0).float()).square().mean()
        codes.zero_grad()
        loss.backward()
        codes.step()
        own_step(critic, critics, code)


torch.manual_seed(0)
for train in (for_both, kept_for_it, kept_now_and_then, at_first, with_a_target, of_itself, of_signs):
    train()
print("done")
