import torch
from torch.autograd import Function

from tests.functions.corpus.base import Pair, Product, Square, one, two


class NoVmap(Product):  # expect: GS301
    generate_vmap_rule = False


class VmapAndGenerate(Square):
    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS302
        return VmapAndGenerate.apply(x), in_dims[0]


class VmapReturnsList(Square):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS303
        return [VmapReturnsList.apply(x), in_dims[0]]


class OutDimsAsList(Pair):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS304
        return OutDimsAsList.apply(x), [in_dims[0], in_dims[0]]


class RowSum(Function):
    """The sum over the last dimension, with a vmap rule that is right."""

    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):
        return grad.unsqueeze(-1).expand(ctx.shape)

    @staticmethod
    def vmap(info, in_dims, x):
        return RowSum.apply(x.movedim(in_dims[0], 0)), 0


class InDimIgnored(RowSum):
    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS305
        return InDimIgnored.apply(x), 0


class OneDimForAll(Function):
    """Takes every input's batch dimension to be the first input's."""

    gradscope_inputs = staticmethod(two(3, 3))

    @staticmethod
    def forward(x, y):
        return x * y.cumsum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        first = grad * y.cumsum(-1) if ctx.needs_input_grad[0] else None
        return first, (grad * x).flip(-1).cumsum(-1).flip(-1) if ctx.needs_input_grad[1] else None

    @staticmethod
    def vmap(info, in_dims, x, y):  # expect: GS305
        dim = in_dims[1] if in_dims[0] is None else in_dims[0]
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(dim, 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(dim, 0)
        return OneDimForAll.apply(x, y), 0


class NoneUnexpected(Product):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, y):
        return NoneUnexpected.apply(x.movedim(in_dims[0], 0), y.movedim(in_dims[1], 0)), 0  # expect: GS306


class BypassesApply(Function):
    custom_gradient = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad

    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS307
        return x.round(), in_dims[0]


class NotAMap(Square):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS308
        return NotAMap.apply(x.movedim(in_dims[0], 0)).flip(0), 0


class DataDependent(Square):
    @staticmethod
    def forward(x):
        if x.sum() > 0:  # expect: GS309
            return x * x
        return x * x


class NumpyGenerated(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return torch.from_numpy(x.detach().numpy() ** 2)  # expect: GS310

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class InplaceOnUnbatched(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        total = torch.zeros(x.shape, dtype=x.dtype)
        total += x  # expect: GS311
        return total * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class RandomGenerated(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        noise = torch.rand_like(x)  # expect: GS312
        return x * noise, noise

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0]


class CleanVmap(Product):
    # clean: GS302 GS303 GS304 GS305 GS306 GS307 GS308
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y if in_dims[1] is None else y.movedim(in_dims[1], 0)
        return CleanVmap.apply(x, y), 0
