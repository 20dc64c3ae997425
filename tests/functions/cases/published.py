"""Functions as they are published: right ones that were accused once, and some with a fault that hides."""

import torch
from torch.autograd import Function


class Picked(Function):
    @staticmethod
    def forward(ctx, x, places, k, sorted_out, fn):
        found = torch.gather(fn(x.clone()), -1, places)
        return found.sort(dim=k)[0] if sorted_out else found.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None, None, None


class Written(Function):
    """Scales.

    Args:
        strength (float): how much
        count (int): how often
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor, strength, count):
        ctx.factor = strength * count
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, None


class Escape(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return torch.exp(-beta * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return -ctx.beta * torch.exp(-ctx.beta * x) * grad, None


def helped(grad, factor):
    return grad * factor, None


class ByHelper(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x * alpha

    @staticmethod
    def backward(ctx, grad):
        return helped(grad, ctx.alpha)


class Branches(Function):
    @staticmethod
    def forward(ctx, x, how):
        ctx.factor = 1.0
        if how == "sum":
            return x.clone()
        if how in ("mean",):
            ctx.factor = 2.0
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Masked(Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        return x * weight.detach()

    @staticmethod
    def backward(ctx, grad):
        (weight,) = ctx.saved_tensors
        return grad * weight, None


class Iterations(Function):
    @staticmethod
    def forward(ctx, y, num_iters):
        x = y.abs() + 1
        for _ in range(num_iters):
            x = (x + y.abs() / x) / 2
        ctx.save_for_backward(x, y.sign())
        return x

    @staticmethod
    def backward(ctx, grad):
        x, sign = ctx.saved_tensors
        return grad * sign / (2 * x), None


class Bound(Function):
    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @classmethod
    def backward(cls, ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class BoundSecondWrong(Function):
    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(2 * x)
        return x * x

    @classmethod
    def backward(cls, ctx, grad):
        return ctx.saved_tensors[0] * grad


class SecondSample(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if (x < 0).any():
            ctx.small = x * 2
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


class Eigenvalues(Function):
    gradscope_inputs = staticmethod(lambda: (torch.diag(torch.tensor([1.0, 2.0, 4.0])) + 0.1,))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (vectors,) = ctx.saved_tensors
        return vectors @ torch.diag_embed(grad) @ vectors.mT

    @staticmethod
    def forward(ctx, matrix):
        values, vectors = torch.linalg.eigh(matrix)
        ctx.save_for_backward(vectors)
        return values


class Picky(Function):
    @staticmethod
    def forward(ctx, x):
        return x.reshape(5, 7).clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(35)


class Rounded(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class HalfRounded(Rounded):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x.half()).to(x.dtype)


class Spike(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + x.abs()) ** 2


class Reversed(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return -ctx.alpha * grad, None


class Clipped(Reversed):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-0.1, 0.1)


class Shuffled(Function):
    """Hands its input on, and a gradient in another order."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.roll(2)


class Centred(Function):
    """Is there for its backward alone, which is made of all incoming elements."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad - grad.mean()


class LearnedStep(Function):
    """The step's own gradient differs from the formula's, too."""

    @staticmethod
    def forward(ctx, x, step):
        ctx.save_for_backward(x, step)
        return torch.round(x / step) * step

    @staticmethod
    def backward(ctx, grad):
        x, step = ctx.saved_tensors
        return grad, (grad * (torch.round(x / step) - x / step)).sum_to_size(step.shape)


class NullSpace(Function):
    """A basis of the null space, of which any rotation is as good."""

    gradscope_inputs = staticmethod(lambda: (torch.randn(2, 5, generator=torch.Generator().manual_seed(0)),))

    @staticmethod
    def forward(ctx, matrix):
        basis = torch.linalg.qr(matrix.mT, mode="complete")[0][:, matrix.shape[0] :]
        ctx.save_for_backward(matrix, basis)
        return basis

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        matrix, basis = ctx.saved_tensors
        return -torch.linalg.pinv(matrix).mT @ grad @ basis.mT


class EigenvaluesAgain(Function):
    """Decomposes again in backward, which takes no NaN, and keeps the matrix itself."""

    gradscope_inputs = staticmethod(lambda: (torch.randn(4, 4, generator=torch.Generator().manual_seed(0)),))

    @staticmethod
    def forward(ctx, matrix):
        ctx.save_for_backward(matrix)
        return torch.linalg.eigvalsh(matrix)

    @staticmethod
    def backward(ctx, grad):
        vectors = torch.linalg.eigh(ctx.saved_tensors[0])[1]
        return vectors @ torch.diag_embed(grad) @ vectors.mT


class Sampled(Function):
    """A sample of a Gamma distribution, drawn with rejections, and how it moves with the concentration."""

    gradscope_inputs = staticmethod(lambda: (torch.tensor([0.3, 0.9, 2.5]),))

    @staticmethod
    def forward(ctx, concentration):
        sample = torch._standard_gamma(concentration)
        ctx.save_for_backward(sample, concentration)
        return sample

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        sample, concentration = ctx.saved_tensors
        return grad * torch._standard_gamma_grad(concentration, sample)


class Windowed(Function):
    """Rounds a number, never a tensor, and forgets the window in backward."""

    @staticmethod
    def forward(ctx, x, size=5):
        ctx.half = int(size / 2)
        ctx.save_for_backward(x)
        return x * x + x.square().roll(ctx.half, -1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad, None


class Transposed(Function):
    """A missing transpose: right along symmetric directions, and wrong."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return b @ grad.mT, a.mT @ grad
