import torch
from torch.autograd import Function

from tests.functions.corpus.base import Pair, Product, Square, one

KEPT = []


class TensorOnContext(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x = inputs[0]  # expect: GS201

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.x * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.x * tangent


class OutputOnContext(Square):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.result = output  # expect: GS202

    @staticmethod
    def backward(ctx, grad):
        return ctx.result * grad

    @staticmethod
    def jvp(ctx, tangent):
        return ctx.result * tangent


class TensorsInContainer(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.values = {"x": inputs[0]}  # expect: GS203

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.values["x"] * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.values["x"] * tangent


class TensorInClosure(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.derivative = lambda grad: 2 * x * grad  # expect: GS204

    @staticmethod
    def backward(ctx, grad):
        return ctx.derivative(grad)

    @staticmethod
    def jvp(ctx, tangent):
        return ctx.derivative(tangent)


class ReservedName(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.to_save = 1  # expect: GS222


class RetainedInput(Square):
    @staticmethod
    def forward(x):  # expect: GS226
        KEPT.append(x)
        return x * x


class BackwardCounts(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.factor = 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        factor, ctx.factor = ctx.factor, 3  # expect: GS227
        return factor * x * grad


class SavesInBackward(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.save_for_backward(x + 1)  # expect: GS229
        return 2 * x * grad


class StateOnClass(Square):
    state = None

    @staticmethod
    def setup_context(ctx, inputs, output):
        StateOnClass.state = inputs[0].detach()  # expect: GS228

    @staticmethod
    def backward(ctx, grad):
        return 2 * StateOnClass.state * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * StateOnClass.state * tangent


class NumpyOnContext(Function):
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x = inputs[0].detach().cpu().numpy().copy()  # expect: GS230

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return 2 * torch.from_numpy(ctx.x) * grad


class ViewOfOutputSaved(Square):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[:])  # expect: GS502
        ctx.save_for_forward(output[:])

    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * grad

    @staticmethod
    def jvp(ctx, tangent):
        return ctx.saved_tensors[0] * tangent


class CleanPlainValues(Pair):
    # clean: GS203 GS209 GS222 GS113
    gradscope_inputs = staticmethod(lambda: (*one()(), 3, "sum"))

    @staticmethod
    def forward(x, count, mode):
        return x * x, count * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.count, ctx.mode = inputs
        ctx.shape = x.shape
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        return 2 * x * first + ctx.count * second, None, None

    @staticmethod
    def jvp(ctx, tangent, *_):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent, ctx.count * tangent


class CleanProduct(Product):
    pass
