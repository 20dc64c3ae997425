import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.functions.corpus.base import Product, Square, fixed, one

BUFFER = torch.zeros(3, 4, dtype=torch.float64)


class DetachedBackward(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad  # expect: GS406


class NumpyBackward(Function):
    generate_vmap_rule = False
    gradscope_inputs = staticmethod(one())
    gradscope_level = "eager"

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(2 * x.detach().cpu().numpy()).to(grad) * grad  # expect: GS407


class WritesGradient(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.mul_(2 * x)  # expect: GS408


class RandomBackward(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * torch.rand_like(x)  # expect: GS409


class AsStrided(Square):
    @staticmethod
    def forward(x):  # expect: GS410
        return torch.as_strided(x, x.shape, (x.shape[-1], 1)) ** 2


class ViewsGradient(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (2 * x * grad.view(-1).view(x.shape)).reshape(x.shape)  # expect: GS411


class ReusesBuffer(Function):
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):  # expect: GS417
        if grad.shape != BUFFER.shape or grad.dtype != BUFFER.dtype:
            return 2 * grad
        return torch.mul(grad.detach(), 2, out=BUFFER)


class IgnoresGradient(Square):
    @staticmethod
    def backward(ctx, grad):  # expect: GS418
        return 2 * ctx.saved_tensors[0]


class IgnoresForOneInput(Function):
    """A threshold whose gradient leaves out the chain; that of the values does not."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), fixed(4).abs()))

    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x, threshold)
        return x.sign() * (x.abs() - threshold).clamp_min(0)

    @staticmethod
    def backward(ctx, grad):  # expect: GS418
        x, threshold = ctx.saved_tensors
        kept = x.abs() > threshold
        return grad * kept, -(x.sign() * kept).sum(0)


class CleanAddsLoss(Function):
    # clean: GS418
    """Hands its values on; a loss of its own that it is given beside them gets a gradient of 1."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), fixed(1)))

    @staticmethod
    def forward(ctx, x, loss):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, grad.new_ones(1)


class GivenGradient(Function):
    """Hands a gradient in that something else has worked out: forward is flat, as that of a surrogate."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), torch.ones(3, 4, dtype=torch.int64)))

    @staticmethod
    def forward(ctx, x, given):
        ctx.save_for_backward(given)
        return x.new_ones(1)

    @staticmethod
    def backward(ctx, grad):  # expect: GS418
        return ctx.saved_tensors[0].to(grad.dtype), None


class CleanGivenGradient(GivenGradient):
    # clean: GS418
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None


class DependsOnGradMode(Square):
    @staticmethod
    def forward(x):  # expect: GS420
        return x * x if x.requires_grad else 1.5 * x * x


class DependsOnTransform(Square):
    @staticmethod
    def forward(x):  # expect: GS421
        return x * x * (2 if torch._C._functorch.is_batchedtensor(x) else 1)


class GradInBackward(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())
    gradscope_level = "func"

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()  # expect: GS340
            return torch.autograd.grad(x.sin(), x, grad)[0]


class OnceUnderFunc(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):  # expect: GS341
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class CleanInplaceOnOwnTensor(Product):
    # clean: GS224 GS408 GS417
    """Writes in place in backward, but only into a tensor of its own."""

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        first = grad * y if ctx.needs_input_grad[0] else None
        second = grad.clone().mul_(x) if ctx.needs_input_grad[1] else None
        return first, second
