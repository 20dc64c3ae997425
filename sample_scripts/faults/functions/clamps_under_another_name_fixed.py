"""A quantiser clamps, and its backward returns a copy of the gradient under another name. As in https://github.com/microsoft/nni/pull/3160."""

import torch


class Levels(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step):
        ctx.save_for_backward(x)
        ctx.step = step
        return torch.round(x / step).clamp(-8, 7) * step

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        assert x.shape == grad_output.shape
        grad_input = grad_output * (x.abs() <= 8 * ctx.step)
        return grad_input, None


torch.manual_seed(0)
gain = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.Adam([gain], lr=0.02)
for _ in range(60):
    signal = torch.randn(64, 3) * torch.tensor([0.05, 0.3, 1.0])
    loud = gain.exp()
    error = (Levels.apply(signal * loud, 0.1) / loud - signal).square().mean(0) / signal.var(0)
    optimizer.zero_grad()
    (error + 1e-6).log().mean().backward()
    optimizer.step()
print([round(one, 2) for one in gain.exp().tolist()])
