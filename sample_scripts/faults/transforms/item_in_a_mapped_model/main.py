"""Per-sample gradients of a small model with an adaptive scale."""

import torch
from model import Scaled
from torch.func import functional_call, grad, vmap
from torch.nn.functional import mse_loss


def main():
    torch.manual_seed(0)
    model = Scaled(4)
    parameters = {name: value.detach() for name, value in model.named_parameters()}

    def loss(parameters, x, y):
        return mse_loss(functional_call(model, parameters, (x,)), y)

    x, y = torch.randn(6, 4), torch.randn(6, 1)
    gradients = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    print({name: value.norm().item() for name, value in gradients.items()})


main()
