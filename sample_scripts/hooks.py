"""Train with every kind of backward hook: on tensors, nodes, parameters and modules, and retain_grad."""

import torch
from torch import nn
from torch.autograd.graph import register_multi_grad_hook

STEPS = 3


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, x):
        self.hidden = torch.tanh(self.first(x))
        self.hidden.retain_grad()
        self.hidden.register_hook(halve)
        return self.second(self.hidden)


def halve(gradient):
    print(f"  tensor hook on hidden: {gradient.norm().item():.6f}")
    return gradient * 0.5


def before_module(module, grad_output):
    print(f"  module pre hook on {type(module).__name__}: {grad_output[0].norm().item():.6f}")


def after_module(module, grad_input, grad_output):
    print(f"  module hook on {type(module).__name__}: {len(grad_input)} in, {len(grad_output)} out")


def before_node(grad_outputs):
    print(f"  node pre hook: {grad_outputs[0].item():.6f}")


def after_node(grad_inputs, grad_outputs):
    print(f"  node hook: {grad_inputs[0].norm().item():.6f}")


def after_both(gradients):
    print(f"  multi-grad hook: {len(gradients)} gradients")


def step_in_backward(parameter):
    """Update a parameter as soon as its gradient is there, and free the gradient."""
    with torch.no_grad():
        parameter -= 0.1 * parameter.grad
    print(f"  post-accumulate hook: stepped a parameter of shape {tuple(parameter.shape)}")
    parameter.grad = None


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    model = Network()
    model.second.register_full_backward_pre_hook(before_module)
    model.second.register_full_backward_hook(after_module)
    model.first.weight.register_hook(lambda gradient: gradient.clamp(-1, 1))
    register_multi_grad_hook([model.first.weight, model.first.bias], after_both)
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_in_backward)

    inputs = torch.randn(8, 3)
    targets = inputs.sum(dim=1, keepdim=True)
    for step in range(STEPS):
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.grad_fn.register_prehook(before_node)
        loss.grad_fn.register_hook(after_node)
        print(f"step {step} loss {loss.item():.6f}")
        loss.backward()
        print(f"  retained gradient of hidden: {model.hidden.grad.norm().item():.6f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
