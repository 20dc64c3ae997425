"""Hooks on parameters that clip weights on purpose, as a Wasserstein critic's, or gradients as they should."""

import torch
from torch import nn


def limit_gradients(network, bound):
    def limit(tensor):
        tensor.grad.clamp_(-bound, bound)

    for parameter in network.parameters():
        parameter.register_post_accumulate_grad_hook(limit)


def step_and_clip_gradients(network, bound):
    optimizers = {one: torch.optim.SGD([one], lr=0.01) for one in network.parameters()}

    def step(tensor):
        tensor.grad.clamp_(-bound, bound)
        optimizers[tensor].step()
        optimizers[tensor].zero_grad()
        tensor.data.clamp_(-1, 1)

    for parameter in network.parameters():
        parameter.register_post_accumulate_grad_hook(step)


def clip_gradients_and_weights(network, bound):
    def both(tensor):
        tensor.data.clamp_(-0.1, 0.1)

    for parameter in network.parameters():
        parameter.register_hook(lambda grad: grad.clamp(-bound, bound))
        parameter.register_post_accumulate_grad_hook(both)


def train_with_clipped_gradients(network, bound):
    """Clips the gradients of the critic, whose weights are kept in a box as soon as there are gradients."""

    def in_a_box(weight):
        weight.data.clamp_(-0.1, 0.1)

    def boxed(t):
        """The weight clipping of a Wasserstein critic."""
        t.data.clamp_(-0.1, 0.1)

    for parameter in network.parameters():
        parameter.register_post_accumulate_grad_hook(in_a_box if parameter.ndim > 1 else boxed)


def register_grad_hooks(network, bound):
    def lipschitz(tensor):
        """Keeps the critic Lipschitz instead of a gradient penalty."""
        tensor.data.clamp_(-bound, bound)

    for parameter in network.parameters():
        parameter.register_post_accumulate_grad_hook(lipschitz)


for prepare in (
    limit_gradients,
    step_and_clip_gradients,
    clip_gradients_and_weights,
    train_with_clipped_gradients,
    register_grad_hooks,
):
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    prepare(critic, 0.1)
    steps_itself = prepare is step_and_clip_gradients
    optimizer = None if steps_itself else torch.optim.RMSprop(critic.parameters(), lr=1e-3)
    for _ in range(5):
        (critic(torch.randn(16, 2)).mean() - critic(torch.randn(16, 2) + 1).mean()).backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
