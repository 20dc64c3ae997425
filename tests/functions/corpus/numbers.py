import torch
from torch.autograd import Function

from tests.functions.corpus.base import Square, one


class WrongGradient(Square):
    @staticmethod
    def backward(ctx, grad):  # expect: GS401
        (x,) = ctx.saved_tensors
        return x * grad


class RoundedStraightThrough(Square):
    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):  # expect: GS422
        return grad

    @staticmethod
    def jvp(ctx, tangent):
        return tangent


class GradientTooSmall(Square):
    @staticmethod
    def backward(ctx, grad):  # expect: GS402
        (x,) = ctx.saved_tensors
        return (2 * x * grad).sum(-1)


class GradientTooBig(Square):
    @staticmethod
    def backward(ctx, grad):  # expect: GS403
        (x,) = ctx.saved_tensors
        return torch.stack([2 * x * grad, x * grad])


class BroadcastSummedLate(Function):
    """The gradient of the broadcast input has the output's shape; torch sums it, rightly."""

    generate_vmap_rule = False
    gradscope_inputs = staticmethod(lambda: (torch.rand(3, 4) + 0.5, torch.rand(4) + 0.5))

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):  # expect: GS403
        x, y = ctx.saved_tensors
        return grad * y if ctx.needs_input_grad[0] else None, grad * x if ctx.needs_input_grad[1] else None


class BroadcastMean(BroadcastSummedLate):
    @staticmethod
    def backward(ctx, grad):  # expect: GS414
        x, y = ctx.saved_tensors
        return grad * y if ctx.needs_input_grad[0] else None, (grad * x).mean(0) if ctx.needs_input_grad[1] else None


class DoubleGradient(Square):
    @staticmethod
    def backward(ctx, grad):  # expect: GS404
        (x,) = ctx.saved_tensors
        return 2 * x.double() * grad


class DoubleOutput(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):  # expect: GS405
        return x.double() * x.double()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (2 * x * grad).to(x.dtype)


class EmptyFails(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad.reshape(-1, grad[0].numel()).reshape(x.shape)  # expect: GS412


class MissingConj(Square):
    gradscope_inputs = staticmethod(lambda: (torch.complex(torch.rand(3), torch.rand(3)),))

    @staticmethod
    def backward(ctx, grad):  # expect: GS413
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class NanAtZero(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, grad):  # expect: GS415
        x, norm = ctx.saved_tensors
        return grad * x / norm


class RootInThrownAwayBranch(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (torch.tensor([-1.0, 0.5, 2.0]),))

    @staticmethod
    def forward(x):
        return torch.relu(x) ** 1.5

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):  # expect: GS423
        (cube,) = ctx.saved_tensors
        return grad * 1.5 * torch.where(cube > 0, cube ** (1 / 3), 0.0)


class CleanRootOfHarmlessArgument(RootInThrownAwayBranch):
    # clean: GS423

    @staticmethod
    def backward(ctx, grad):
        (cube,) = ctx.saved_tensors
        harmless = torch.where(cube > 0, cube, 1.0)
        return grad * 1.5 * torch.where(cube > 0, harmless ** (1 / 3), 0.0)


class AutocastMixes(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (torch.rand(3, 4), torch.rand(4, 2)))

    @staticmethod
    def forward(x, weight):
        return x @ weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        first = grad @ weight.t() if ctx.needs_input_grad[0] else None  # expect: GS416
        return first, x.t() @ grad if ctx.needs_input_grad[1] else None


class CleanConj(Square):
    # clean: GS413
    gradscope_inputs = staticmethod(lambda: (torch.complex(torch.rand(3), torch.rand(3)),))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (2 * x).conj() * grad


class CleanHalfOutput(Function):
    # clean: GS401
    """bfloat16 comes out whatever goes in: differences of it are coarse."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return (x * x).bfloat16()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad.to(x.dtype) * x
