"""The bench a Function lies on: one sample, the Function as a plain callable, and the values it should give.

The surprise: a Function that writes its input in place cannot be given a leaf, so such inputs are cloned first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import Sample, tensors_in
from gradscope.functions.meant import Design
from gradscope.functions.seeding import SEED
from gradscope.functions.trials.anatomy import Anatomy, examine
from gradscope.functions.trials.draws import seed, states
from gradscope.functions.trials.outcome import NotApplicable, NotTried
from gradscope.functions.trials.precision import EXACT, HALF, SINGLE, Precision, precision_of

HALVES = {torch.float16, torch.bfloat16}
Tensors = tuple[Tensor, ...]


@dataclass
class Bench:
    """One Function with one sample. `reference` computes the same as forward, differentiably, when there is one;
    `symmetric` are the positions of matrices that are made symmetric before they are given to it.
    """

    function: Any
    sample: Sample
    custom_gradient: bool = False
    reference: Callable[..., Any] | None = None
    device: str = "cpu"
    once_differentiable: bool = False
    once: dict[str, Any] = field(default_factory=dict)
    symmetric: tuple[int, ...] = ()
    design: Design = Design.NONE
    tolerance: float | None = None

    @cached_property
    def anatomy(self) -> Anatomy:
        """What one eager forward and backward do, seen from inside."""
        return examine(self.function, self.sample)

    @cached_property
    def narrow(self) -> set[torch.dtype]:
        """The narrow dtypes of what forward gives for float64 inputs; float32 where it takes none."""
        try:
            outputs = tensors_in(seeded(self.function.apply, *self.sample.fresh(torch.float64, grad=False)))
        except Exception:
            return {torch.float32}
        return {output.dtype for output in outputs} & {torch.float32, *HALVES}

    @property
    def dtype(self) -> torch.dtype:
        """float64 for numerical differences, float32 when the Function cannot do better."""
        return torch.float32 if self.narrow else torch.float64

    @cached_property
    def precision(self) -> Precision:
        """How exactly forward computes, with the tolerance that is declared."""
        found = self.own_precision
        return found if self.tolerance is None else replace(found, relative=self.tolerance)

    @property
    def own_precision(self) -> Precision:
        """How exactly forward computes: it may cast to a narrower type inside and back again."""
        if self.narrow:
            return HALF if self.narrow & HALVES else SINGLE
        try:
            with torch.no_grad():
                return precision_of(self.call, tuple(x.detach() for x in self.inputs()))
        except Exception:
            return EXACT  # what the Function raises here, a trial will say

    def refuse_coarse(self) -> None:
        """torch's own checks need differences of double precision."""
        if self.precision.step != EXACT.step:
            raise NotTried("forward computes in less than double precision")

    @property
    def step(self) -> float:
        """The step of central differences."""
        return self.precision.step

    def close(self, left: Tensor | None, right: Tensor | None, loose: float = 1.0) -> bool:
        """Whether two values agree as well as numerical differences can; a missing gradient counts as zeros."""
        if left is None or right is None:
            other = right if left is None else left
            return other is None or bool((other == 0).all())
        if left.shape != right.shape:
            return False
        left, right = left.detach().cpu(), right.detach().cpu()
        relative, absolute = self.precision.relative, self.precision.absolute
        wide = torch.complex128 if left.is_complex() or right.is_complex() else torch.float64
        return torch.allclose(
            left.detach().to(wide), right.detach().to(wide), relative * loose, absolute * loose, equal_nan=True
        )

    def all_close(self, left: Sequence[Tensor | None], right: Sequence[Tensor | None]) -> bool:
        """Whether two lists of values agree."""
        return len(left) == len(right) and all(self.close(a, b) for a, b in zip(left, right, strict=True))

    def arguments(self, dtype: torch.dtype | None = None) -> list[Any]:
        """Fresh arguments in the bench's precision."""
        return self.sample.fresh(dtype or self.dtype)

    def inputs(self, dtype: torch.dtype | None = None) -> Tensors:
        """Fresh differentiable inputs: what the callable of this bench takes."""
        args = self.arguments(dtype)
        return tuple(args[i] for i in self.positions)

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the differentiable inputs stand among the arguments."""
        if not self.sample.differentiable:
            raise NotApplicable("no input requires grad")
        return self.sample.differentiable

    @property
    def generated(self) -> bool:
        """Whether torch makes the vmap rule."""
        return bool(getattr(self.function, "generate_vmap_rule", False))

    @cached_property
    def draws(self) -> str:
        """Whose random numbers forward draws: torch's, foreign ones (Python's or numpy's), or "" for none."""
        args = self.arguments()
        seed(SEED)
        torch_before, foreign_before = states(self.device)
        self.function.apply(*[a.clone() if isinstance(a, Tensor) else a for a in args])
        torch_after, foreign_after = states(self.device)
        if foreign_before != foreign_after:
            return "foreign"
        return "" if all(map(torch.equal, torch_before, torch_after)) else "torch"

    @property
    def random(self) -> bool:
        """Whether forward draws random numbers: its values then depend on dtype, layout and the number of threads."""
        return bool(self.draws)

    @cached_property
    def draws_backward(self) -> bool:
        """Whether backward draws random numbers: the gradient is then an estimate, another one each time."""
        inputs = self.inputs()
        total = self.scalar(*inputs)
        if not total.requires_grad:
            return False
        torch_before, foreign_before = states(self.device)
        torch.autograd.grad(total, inputs, allow_unused=True)
        torch_after, foreign_after = states(self.device)
        return foreign_before != foreign_after or not all(map(torch.equal, torch_before, torch_after))

    def refuse_random(self) -> None:
        """Trials that compare across dtypes, layouts or threads say nothing about a random forward."""
        if self.random:
            raise NotApplicable("forward draws random numbers")

    def refuse_once_differentiable(self) -> None:
        """Second-order trials have nothing to say about a backward declared once_differentiable."""
        if self.once_differentiable:
            raise NotApplicable("backward is declared once_differentiable")

    def refuse_surface(self) -> None:
        """Differences of a gradient say nothing where inputs and outputs only move on a surface, which they leave."""
        if self.design.on_a_surface:
            raise NotApplicable(f"differences of the gradient say nothing: {self.design.value}")

    def sample_args(self) -> list[Any]:
        """The arguments in their own dtype; copies that are no leaves where forward writes in place."""
        args = self.sample.fresh()
        for position in self.sample.differentiable if self.dirty else ():
            args[position] = args[position].clone()
        return args

    @property
    def dirty(self) -> bool:
        """Whether forward writes an input in place."""
        return bool(self.anatomy.mutated or self.anatomy.dirty)

    def call(self, *inputs: Tensor, dtype: torch.dtype | None = None) -> Tensors:
        """Apply the Function to differentiable inputs; gives its differentiable outputs."""
        args = self.sample.fresh(dtype or self.dtype, grad=False)
        for position, value in zip(self.positions, self.shaped(inputs), strict=True):
            args[position] = value.clone() if self.dirty else value
        return self.differentiable(seeded(self.function.apply, *args))

    def shaped(self, inputs: Tensors) -> Tensors:
        """The inputs, those made symmetric that are declared or found to be; a gradient with respect to what the
        Function is given becomes that with respect to these inputs by the same."""
        pairs = zip(self.positions, inputs, strict=True)
        return tuple((x + x.mT) / 2 if position in self.symmetric else x for position, x in pairs)

    def on_symmetric(self, positions: tuple[int, ...]) -> Bench:
        """The same bench, for symmetric matrices at these positions."""
        square = tuple(i for i in positions if i < len(self.sample.args) and is_square(self.sample.args[i]))
        return replace(self, symmetric=square, sample=self.sample.symmetric_at(square), once={})

    def differentiable(self, outputs: Any) -> Tensors:
        """Of what apply returned, the tensors that carry a gradient."""
        values = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        chosen = [v for i, v in enumerate(values) if isinstance(v, Tensor) and i not in self.anatomy.nondifferentiable]
        floating = tuple(v for v in chosen if v.is_floating_point() or v.is_complex())
        if not floating:
            raise NotApplicable("no output is differentiable")
        return floating

    def cotangents(self, outputs: Tensors) -> Tensors:
        """Fixed weights for the outputs."""
        return tuple(uneven(o.shape, o.dtype, o.device, number) for number, o in enumerate(outputs))

    def directions(self, seed: int = 1) -> Tensors:
        """Fixed directions in the space of the inputs."""
        values = [self.sample.args[i] for i in self.positions]
        wide = torch.complex128 if self.dtype is torch.float64 else torch.complex64
        kinds = [wide if v.is_complex() else self.dtype for v in values]
        return tuple(
            uneven(v.shape, k, v.device, 10 * seed + n) for n, (v, k) in enumerate(zip(values, kinds, strict=True))
        )

    def weigh(self, outputs: Tensors, weights: Tensors | None = None) -> Tensor:
        """The scalar whose gradient is tried: outputs times fixed weights, summed."""
        pairs = zip(outputs, weights or self.cotangents(outputs), strict=True)
        total = sum((o * w).sum() for o, w in pairs)
        assert isinstance(total, Tensor)
        return total.real if total.is_complex() else total

    def scalar(self, *inputs: Tensor) -> Tensor:
        """The Function followed by the weighing."""
        return self.weigh(self.call(*inputs))

    def gradient(self, inputs: Tensors, create_graph: bool = False) -> Tensors:
        """The eager gradient of the scalar; zeros where autograd gives none."""
        total = self.scalar(*inputs)
        if not total.requires_grad:
            return tuple(torch.zeros_like(x) for x in inputs)
        grads = torch.autograd.grad(total, inputs, create_graph=create_graph, allow_unused=True)
        return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))

    @cached_property
    def eager_gradient(self) -> Tensors:
        """The eager gradient at the sample."""
        return tuple(g.detach() for g in self.gradient(self.inputs()))

    @cached_property
    def linear(self) -> bool:
        """Whether twice the incoming gradient gives twice the gradient, as any derivative does (clipping does not)."""
        return self.all_close([2 * g for g in self.eager_gradient], self._scaled_gradient(2))

    @cached_property
    def ignores_incoming(self) -> bool:
        """Whether a gradient is the same whatever comes in: twice as much, or of the other sign.

        One of several gradients may be where forward does not compute with its input: a loss that is added by a
        Function which hands its other input on.
        """
        scaled = [self._scaled_gradient(factor) for factor in (2, -1)]
        ignoring = [
            place
            for place, own in enumerate(self.eager_gradient)
            if bool(own.any()) and all(self.all_close([own], [other[place]]) for other in scaled)
        ]
        others = [own for place, own in enumerate(self.eager_gradient) if place not in ignoring and bool(own.any())]
        return bool(ignoring) and (not others or any(self._goes_in(place) for place in ignoring))

    def _goes_in(self, place: int) -> bool:
        """Whether the outputs are others where an input is; not where forward refuses the other."""
        inputs = [x.detach() for x in self.inputs()]
        moved = [2 * x + 1 if at == place else x for at, x in enumerate(inputs)]
        try:
            return not self.all_close(self.call(*inputs), self.call(*moved))
        except Exception:
            return False

    def _scaled_gradient(self, factor: float) -> Sequence[Tensor | None]:
        """The gradient for so much of the incoming one."""
        inputs = self.inputs()
        outputs = self.call(*inputs)
        total = self.weigh(outputs, tuple(factor * w for w in self.cotangents(outputs)))
        if not total.requires_grad:
            return (None,) * len(inputs)
        return torch.autograd.grad(total, inputs, allow_unused=True)

    def refuse_nonlinear(self) -> None:
        """Trials that add gradients up say nothing about a gradient that is clipped, by design."""
        if self.custom_gradient and not self.linear:
            raise NotApplicable("the gradient is not linear in the incoming one, by design")

    def shifted(self, direction: Tensors, sign: int) -> Tensors:
        """The sample's inputs, a small step along a direction."""
        return tuple(
            (x.detach() + sign * self.step * d).requires_grad_() for x, d in zip(self.inputs(), direction, strict=True)
        )

    def difference(self, function: Callable[..., Tensors], direction: Tensors) -> Tensors:
        """The derivative of a function along a direction, by central differences."""
        above, below = function(*self.shifted(direction, 1)), function(*self.shifted(direction, -1))
        return tuple(((a - b) / (2 * self.step)).detach() for a, b in zip(above, below, strict=True))

    @cached_property
    def forward_difference(self) -> Tensors:
        """How the outputs change along the fixed direction."""
        return self.difference(self.formula, self.directions())

    def formula(self, *inputs: Tensor) -> Tensors:
        """What is differentiated numerically: the reference when one is given, else the Function itself."""
        if self.reference is None:
            with torch.no_grad():
                return self.call(*inputs)
        args = self.sample.fresh(self.dtype, grad=False)
        for position, value in zip(self.positions, self.shaped(inputs), strict=True):
            args[position] = value
        return self.differentiable(seeded(self.reference, *args))

    def gradient_agrees(self, gradient: Sequence[Tensor | None]) -> bool:
        """Whether a gradient of the scalar agrees with numerical differences along the fixed directions."""
        if self.custom_gradient:
            return True
        for number in (1, 2):
            direction = self.directions(number)
            change = self.forward_difference if number == 1 else self.difference(self.formula, direction)
            if not self.agrees(self.weigh(change), dot(gradient, direction)):
                return False
        return True

    @cached_property
    def gradient_difference(self) -> Tensors:
        """How the eager gradient changes along the fixed direction: the second order's measure."""
        return self.difference(lambda *inputs: self.gradient(inputs), self.directions())

    def second_order_agrees(self, second: Sequence[Tensor | None]) -> bool:
        """Whether `second`, the gradient of <gradient, directions(3)>, agrees with differences of the gradient."""
        expected = self.weigh(self.gradient_difference, self.directions(3))
        return self.agrees(expected, dot(second, self.directions()))

    def second_order_agrees_along(self, change: Sequence[Tensor | None]) -> bool:
        """Whether `change`, the gradient's derivative along the fixed direction, agrees with differences."""
        pairs = zip(self.gradient_difference, change, self.directions(3), strict=True)
        return all(self.agrees(dot([expected], [weight]), dot([found], [weight])) for expected, found, weight in pairs)

    def agrees(self, difference: Tensor, derivative: Tensor) -> bool:
        """Whether a numerical difference and a derivative agree, given the rounding errors that the step magnifies."""
        noise = 4 * self.precision.rounding * self.size / self.step
        gap, scale = abs(float(difference) - float(derivative)), abs(float(derivative))
        return gap <= 10 * (self.precision.absolute + self.precision.relative * scale) + noise

    @cached_property
    def size(self) -> float:
        """The size of the weighed outputs, element by element."""
        outputs = self.call(*self.inputs())
        pairs = zip(outputs, self.cotangents(outputs), strict=True)
        return math.sqrt(sum(float((o.detach() * w).abs().square().sum()) for o, w in pairs))

    def refuse_half(self) -> None:
        """Differences of the gradient are noise in half precision."""
        if self.precision.step == HALF.step:
            raise NotTried("forward computes in half precision")


def is_square(value: Any) -> bool:
    """Whether an argument is a square matrix, or a stack of them."""
    return isinstance(value, Tensor) and value.dim() > 1 and value.shape[-1] == value.shape[-2]


def seeded(function: Callable[..., Any], *args: Any) -> Any:
    """Call with a fixed random state, so that a Function that draws random numbers can be compared with itself."""
    seed(SEED)
    return function(*args)


def uneven(shape: torch.Size, dtype: torch.dtype, device: torch.device, number: int) -> Tensor:
    """Fixed values without a pattern that a fault could share; made without random numbers, which vmap refuses."""
    angles = torch.arange(shape.numel(), dtype=torch.float64, device=device) * 1.7 + 0.9 * number + 0.5
    values = angles.sin() + 0.3 * (angles * 3.1).cos()
    return (torch.complex(values, angles.cos()) if dtype.is_complex else values).reshape(shape).to(dtype)


def dot(left: Sequence[Tensor | None], right: Sequence[Tensor | None]) -> Tensor:
    """The inner product over a list of tensors; a missing one counts as zeros."""
    total = torch.zeros((), dtype=torch.float64)
    for a, b in zip(left, right, strict=True):
        if a is not None and b is not None and a.shape == b.shape:
            product = (a.detach() * b.detach().conj() if b.is_complex() else a.detach() * b.detach()).sum()
            total = total + (product.real if product.is_complex() else product).double().cpu()
        elif a is not None and b is not None:
            return torch.full((), float("nan"), dtype=torch.float64)
    return total
