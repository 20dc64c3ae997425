"""A short training whose bits tell whether anything was disturbed."""

import torch


def train_with_dropout():
    """Three steps of Adam: the parameters and the random numbers that come next."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).exp().log().square().mean().backward()
        optimizer.step()
    return [*(parameter.detach().clone() for parameter in model.parameters()), torch.rand(3)]
