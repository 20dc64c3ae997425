"""Hooks on parameters that know that they get a parameter: they update, decay, limit, average and mask the weights."""

import torch
from torch import nn

RATE = 0.1


def update(weight, g):
    weight.data.sub_(RATE * g)


def plain(parameter):
    update(parameter, parameter.grad)
    parameter.grad = None


def direction(parameter):
    return parameter.grad.sign()


def signs(parameter):
    parameter.data.add_(direction(parameter), alpha=-0.01)
    parameter.data.clamp_(-1, 1)


class OfItsOwn:
    def __init__(self, parameters):
        self.moments = {one: torch.zeros_like(one) for one in parameters}

    def step(self, parameter):
        with torch.no_grad():
            moment = self.moments[parameter].mul_(0.9).add_(parameter.grad)
            parameter.sub_(moment, alpha=RATE)

    def __call__(self, parameter):
        self.step(parameter)
        parameter.div_(parameter.norm().clamp(min=1))


def train(register, optimizer_of=None):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    parameters = list(model.parameters())
    optimizer = None if optimizer_of is None else optimizer_of(parameters)
    register(parameters)
    for _ in range(4):
        model(torch.randn(5, 3)).square().mean().backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        else:
            model.zero_grad()


def hang(hook):
    def register(parameters):
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(hook)

    return register


def in_the_backward(parameters):
    optimizers = {one: torch.optim.SGD([one], lr=RATE) for one in parameters}

    def step_and_limit(g):
        optimizers[g].step()
        g.data.clamp_(-1, 1)
        optimizers[g].zero_grad()

    hang(step_and_limit)(parameters)


def followed(parameters):
    averages = {one: one.detach().clone() for one in parameters}
    masks = {one: torch.rand_like(one) > 0.2 for one in parameters}

    def follow_and_prune(parameter):
        averages[parameter].lerp_(parameter.data, 0.1)
        parameter.data.mul_(masks[parameter])

    hang(follow_and_prune)(parameters)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=RATE)


def decay(parameter):
    parameter.data.mul_(1 - RATE * 0.01)  # decoupled weight decay


def limit(p):
    p.data.clamp_(-1, 1)


for hook in (plain, signs):
    train(hang(hook))
train(lambda parameters: hang(OfItsOwn(parameters))(parameters))
train(in_the_backward)
train(followed, sgd)
for hook in (decay, limit):
    train(hang(hook), sgd)
