"""Which pixels a classifier looks at: the gradient of its score with respect to the picture, which comes as bytes.

As in https://github.com/pytorch/pytorch/issues/13113.
"""

import torch
from torch import nn


def saliency(model, picture, label):
    picture = (picture / 255.0).requires_grad_()
    score = model(picture[None])[0, label]
    score.backward()
    return None if picture.grad is None else picture.grad.abs().amax(0)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)).eval()
    for label in range(3):
        found = saliency(model, torch.randint(0, 256, (3, 16, 16)), label)
        print(label, "no map" if found is None else tuple(found.shape))


if __name__ == "__main__":
    main()
