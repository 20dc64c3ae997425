"""Train an ensemble with torch.func: per-sample gradients, functional_call under vmap, a Hessian and a Jacobian."""

import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, stack_module_state, vmap

STEPS = 8
MEMBERS = 3


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 8)
        self.output = nn.Linear(8, 1)

    def forward(self, x):
        return self.output(torch.tanh(self.hidden(x))).squeeze(-1)


def squared_error(model, parameters, x, y):
    return (functional_call(model, parameters, (x,)) - y).square().mean()


def train_privately(model, inputs, targets):
    """Gradient descent on the mean of per-sample gradients, each clipped to length one (as in private training)."""
    parameters = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    def sample_loss(parameters, x, y):
        return squared_error(model, parameters, x, y)

    for step in range(STEPS):
        gradients = vmap(grad(sample_loss), in_dims=(None, 0, 0))(parameters, inputs, targets)
        lengths = torch.stack([value.flatten(1).norm(dim=1) for value in gradients.values()]).norm(dim=0)
        scale = (1 / lengths).clamp(max=1)
        for name, value in gradients.items():
            clipped = value * scale.view(-1, *[1] * (value.dim() - 1))
            parameters[name] = parameters[name] - 0.2 * clipped.mean(dim=0)
        print(f"private step {step} loss {squared_error(model, parameters, inputs, targets).item():.6f}")
    return parameters


def train_ensemble(inputs, targets):
    """All members in one batched forward and one ordinary backward."""
    models = [Regressor() for _ in range(MEMBERS)]
    parameters, buffers = stack_module_state(models)
    optimizer = torch.optim.Adam(parameters.values(), lr=0.05)

    def predict(parameters, buffers, x):
        return functional_call(models[0], (parameters, buffers), (x,))

    for step in range(STEPS):
        predictions = vmap(predict, in_dims=(0, 0, None))(parameters, buffers, inputs)
        loss = (predictions - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"ensemble step {step} loss {loss.item():.6f}")
    return loss


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    inputs = torch.randn(16, 3)
    targets = (inputs[:, 0] * inputs[:, 1]).tanh()
    model = Regressor()
    parameters = train_privately(model, inputs, targets)

    bias = parameters["output.bias"]
    curvature = hessian(lambda bias: squared_error(model, {**parameters, "output.bias": bias}, inputs, targets))(bias)
    slope = vmap(jacrev(lambda x: functional_call(model, parameters, (x,))))(inputs)
    print(f"curvature {curvature.item():.6f} slope {slope.norm().item():.6f}")

    loss = train_ensemble(inputs, targets)
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
