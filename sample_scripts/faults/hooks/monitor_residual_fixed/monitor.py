"""Norms of the gradients that reach linear layers."""

from torch import nn


class Monitor:
    def __init__(self, model):
        self.norms = []
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.register_full_backward_hook(self.note)

    def note(self, module, grad_input, grad_output):
        self.norms.append(grad_output[0].norm().item())
