"""Whether operators have a backward: nobody asks for the gradients; what does is for another day."""

import torch


def norms(model):
    return [one.grad.norm().item() for one in model.parameters()]


def main():
    for operator in (torch.sin, torch.exp, torch.relu):
        operator(torch.randn(3, requires_grad=True) + 1.0).sum().backward()
        print(operator.__name__, "runs backward")


if __name__ == "__main__":
    main()
