"""A magnitude of a spectrum whose backward stays complex."""

import torch


class SpectrumPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        spectrum = torch.fft.fft(x)
        ctx.save_for_backward(spectrum)
        return spectrum.abs().square()

    @staticmethod
    def backward(ctx, grad):
        (spectrum,) = ctx.saved_tensors
        back = torch.fft.ifft(2 * grad * spectrum) * len(grad)
        return back.real


x = torch.linspace(0, 1, 8, requires_grad=True)
SpectrumPower.apply(x).sum().backward()
print(x.grad)
