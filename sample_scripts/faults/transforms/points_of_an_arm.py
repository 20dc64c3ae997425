"""Jacobian of an arm by vmap: the places of its joints are written into zeros that all samples share.

As in https://github.com/pytorch/pytorch/issues/103329.
"""

import torch
from torch.func import jacrev, vmap

LENGTHS = (1.0, 0.7, 0.4)


def places(angles):
    heading = torch.cumsum(angles, 0)
    points = torch.zeros(len(LENGTHS) + 1, 2)  # expect: GS775
    for at, length in enumerate(LENGTHS):
        step = length * torch.stack([heading[at].cos(), heading[at].sin()])
        points[at + 1] = points[at] + step
    return points


def main():
    torch.manual_seed(0)
    print(tuple(vmap(jacrev(places))(torch.randn(5, 3)).shape))


main()
