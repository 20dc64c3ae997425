"""Whether operators have a backward: nobody asks for the gradients."""

import torch


def main():
    for operator in (torch.sin, torch.exp, torch.relu):
        operator(torch.randn(3, requires_grad=True) + 1.0).sum().backward()
        print(operator.__name__, "runs backward")


if __name__ == "__main__":
    main()
