"""What a gradient that differs from the formula's is meant to be: straight-through, surrogate, scaling, symmetric.

The numbers show it: forward is flat, gives an input as it is, or reads one triangle of a matrix; and for what no number
can show (a natural gradient), by what the author says of it. Anything else that differs is wrong.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gradscope.functions.meant import Design
from gradscope.functions.source import last_name
from gradscope.functions.subject import Subject
from gradscope.functions.trials.bench import Bench, dot

ELEMENTS = 24  # of an input that are looked at one by one
RARE = 0.1  # of the elements, which a step may carry over an edge
SAID = re.compile(
    r"straight.?through|\bste\b|surrogate|pseudo.?(gradient|derivative)|natural.?(grad|to)|_?ngd|gradient.?revers"
    r"|pathwise|_omt|ewma|moving.?average|guided.?(back|relu)",
    re.IGNORECASE,
)


ROUNDING = ("floor", "ceil", "round", "trunc", "floor_divide", "sign", "long", "int")
SAMPLERS = re.compile(r"sample|gamma|poisson|binomial|multinomial")
MANIFOLD = re.compile(r"so_?3|se_?3|sim_?3|manifold|(^|_)lie", re.IGNORECASE)


def designed(bench: Bench, subject: Subject) -> Bench:
    """The bench as it is to be tried: where the gradient differs by design, that is assumed."""
    bench.design = design_of(bench, subject)
    bench.custom_gradient = bench.design.replaces
    bench.once_differentiable = bench.once_differentiable or bench.design.on_a_surface
    if bench.design is Design.SYMMETRIC:
        return bench.on_symmetric(tuple(bench.positions[place] for place in square_inputs(bench)))
    return bench


@dataclass(frozen=True, slots=True)
class Slopes:
    """Elements of one input: how the weighed output changes with each, the gradient, and the output's own weight."""

    measured: Tensor
    gradient: Tensor
    weight: Tensor | None
    given_on: bool  # forward gives the input as it is
    by_element: bool  # an element's gradient is made of its own incoming one

    @property
    def differs(self) -> Tensor:
        """At which elements the two disagree."""
        scale = torch.maximum(self.measured.abs(), self.gradient.abs())
        return (self.measured - self.gradient).abs() > 1e-5 + 1e-3 * scale

    @property
    def flat(self) -> bool:
        """Whether forward hardly changes with any of the elements, and backward says that it does."""
        moving = int((self.measured != 0).sum())
        return moving <= RARE * self.measured.numel() and bool((self.gradient != 0).any())

    @property
    def stands_in(self) -> bool:
        """Whether the gradient differs only where forward is flat."""
        wrong = int((self.differs & (self.measured != 0)).sum())
        return wrong <= RARE * int(self.differs.sum())

    @property
    def passes_through(self) -> bool:
        """Whether each element's gradient is the incoming one, or none."""
        if self.weight is None:
            return False
        return bool(((self.gradient == 0) | torch.isclose(self.gradient, self.weight, rtol=1e-3, atol=1e-6)).all())


def design_of(bench: Bench, subject: Subject) -> Design:
    """The reason for a gradient that differs, or NONE where it does not, or where nothing explains it."""
    try:
        slopes = [slope for output in range(len(bench.call(*bench.inputs()))) for slope in slopes_of(bench, output)]
        differing = [slope for slope in slopes if slope.differs.any()]
        return reason_for(bench, subject, differing) if differing else Design.NONE
    except Exception:
        return Design.NONE  # what the Function raises, a trial will say


def reason_for(bench: Bench, subject: Subject, differing: list[Slopes]) -> Design:
    """The first reason that explains slopes which differ."""
    flat = any(slope.flat for slope in differing) or all(slope.stands_in for slope in differing) or rounds(subject)
    through = all(slope.passes_through for slope in differing)
    reasons: tuple[tuple[Design, Callable[[], bool]], ...] = (
        (Design.ESTIMATE, lambda: bench.draws_backward),
        (Design.SAMPLE, lambda: draws_samples(bench, subject)),
        (Design.STRAIGHT_THROUGH, lambda: flat and through),
        (Design.SURROGATE, lambda: flat),
        (Design.GIVEN_ON, lambda: all(s.given_on and (s.by_element or hands_on(subject)) for s in differing)),
        (Design.TANGENT, lambda: bool(MANIFOLD.search(subject.short_name)) and is_padded(bench)),
        (Design.SAID, lambda: says_so(subject)),
        (Design.GAUGE, lambda: agrees_on_spans(bench)),
        (Design.SYMMETRIC, lambda: agrees_on_symmetric(bench)),
    )
    return next((design for design, holds in reasons if holds()), Design.NONE)


def slopes_of(bench: Bench, number: int) -> Iterator[Slopes]:
    """The slopes of one output in every input, one element at a time."""
    inputs = bench.inputs()
    outputs = bench.call(*inputs)
    weights = bench.cotangents(outputs)
    alone = tuple(weight if place == number else 0 * weight for place, weight in enumerate(weights))
    gradients = gradients_for(bench, inputs, alone)
    others = gradients_for(bench, inputs, tuple(with_other_first(weight) for weight in alone))
    output, weight = outputs[number].detach(), weights[number]
    for place, (value, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        if value.is_complex():
            return
        chosen = chosen_elements(value)
        measured = [measured_slope(bench, inputs, place, element, alone) for element in chosen]
        same_shape = output.shape == value.shape
        moved = (others[place] != gradient).reshape(-1)
        yield Slopes(
            torch.tensor(measured, dtype=torch.float64),
            gradient.reshape(-1)[chosen].double().cpu(),
            weight.reshape(-1)[chosen].double().cpu() if same_shape else None,
            same_shape and torch.equal(output, value.detach()),
            not moved[1:].any(),
        )


def gradients_for(bench: Bench, inputs: tuple[Tensor, ...], weights: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """What the outputs, weighed, give each input; zeros where they give none."""
    total = bench.weigh(bench.call(*inputs), weights)
    if not total.requires_grad:
        return tuple(map(torch.zeros_like, inputs))
    found = torch.autograd.grad(total, inputs, allow_unused=True)
    pairs = zip(inputs, found, strict=True)
    return tuple(torch.zeros_like(value) if one is None else one.detach() for value, one in pairs)


def with_other_first(weight: Tensor) -> Tensor:
    """The same weights but for the first one."""
    moved = weight.clone()
    moved.view(-1)[:1] *= 2
    return moved


def chosen_elements(value: Tensor) -> list[int]:
    """Places of elements, evenly spread."""
    count = value.numel()
    return list(range(0, count, max(1, -(-count // ELEMENTS))))


def measured_slope(
    bench: Bench, inputs: tuple[Tensor, ...], place: int, element: int, weights: tuple[Tensor, ...]
) -> float:
    """How the weighed outputs change with one element, by central differences."""
    direction = torch.zeros_like(inputs[place]).reshape(-1)
    direction[element] = 1
    everywhere = tuple(
        direction.reshape(value.shape) if index == place else torch.zeros_like(value)
        for index, value in enumerate(inputs)
    )
    return float(bench.weigh(bench.difference(bench.formula, everywhere), weights))


def hands_on(subject: Subject) -> bool:
    """Whether forward is no more than `return x`: then the class is there for its backward alone."""
    forward = subject.method("forward")
    if forward is None:
        return False
    returned = [node.value for node in forward.walk() if isinstance(node, ast.Return)]
    return bool(returned) and all(isinstance(value, ast.Name) and value.id in forward.names for value in returned)


def rounds(subject: Subject) -> bool:
    """Whether forward rounds tensors to steps, between which their slope says nothing of their course."""
    forward = subject.method("forward")
    calls = forward.calls(*ROUNDING) if forward else ()
    of_tensors = [call for call in calls if isinstance(call.func, ast.Attribute) and not is_of_numbers(call.func)]
    return bool(of_tensors or (forward and forward.attributes("int32", "int64")))


def is_of_numbers(function: ast.Attribute) -> bool:
    """Whether a rounding is of plain numbers: a size, say, that forward works out, by `math.floor(...)`."""
    return isinstance(function.value, ast.Name) and function.value.id == "math"


def draws_samples(bench: Bench, subject: Subject) -> bool:
    """Whether forward samples from a distribution that its inputs shape: with the same seed, the sample may jump."""
    forward = subject.method("forward")
    called = (node.func for node in forward.walk() if isinstance(node, ast.Call)) if forward else ()
    return bench.random and any(SAMPLERS.search(last_name(function)) for function in called)


def is_padded(bench: Bench) -> bool:
    """Whether some gradient, of an input or as it comes in for an output, has a last coordinate that does not count."""
    if any(g.dim() and bool((g[..., -1] == 0).all()) and bool((g != 0).any()) for g in bench.eager_gradient):
        return True
    inputs = bench.inputs()
    outputs = bench.call(*inputs)
    last = tuple(torch.zeros_like(w).index_fill(-1, torch.tensor([w.shape[-1] - 1]), 1.0) for w in outputs)
    gradient = torch.autograd.grad(bench.weigh(outputs, last), inputs, allow_unused=True)
    return all(g is None or not g.any() for g in gradient)


def says_so(subject: Subject) -> bool:
    """Whether the author says in the class, its name or its comments that the gradient is another one."""
    texts = (subject.short_name, subject.text)
    return any(SAID.search(text) for text in texts)


def agrees_on_spans(bench: Bench) -> bool:
    """Whether the outputs are orthonormal vectors, and the gradient is right for the projections on what they span."""
    inputs = bench.inputs()
    projections = projections_on(bench.call(*inputs))
    if not projections:
        return False
    total = bench.weigh(projections)
    gradient = torch.autograd.grad(total, inputs, allow_unused=True) if total.requires_grad else ()
    for number in (1, 2):
        direction = bench.directions(number)
        change = bench.difference(lambda *moved: projections_on(bench.formula(*moved)), direction)
        if not gradient or not bench.agrees(bench.weigh(change), dot(gradient, direction)):
            return False
    return True


def projections_on(outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """For outputs that are all fewer orthonormal vectors than there are dimensions, the projections on their spans."""
    found = []
    for output in outputs:
        if output.dim() < 2 or output.shape[-2] == output.shape[-1]:
            return ()
        columns = output if output.shape[-2] > output.shape[-1] else output.mT
        squares = columns.detach().mT @ columns.detach()
        if not torch.allclose(squares, torch.eye(squares.shape[-1], dtype=squares.dtype).expand_as(squares), atol=1e-6):
            return ()
        found.append(columns @ columns.mT)
    return tuple(found)


def agrees_on_symmetric(bench: Bench) -> bool:
    """Whether backward gives symmetric gradients that are right where the matrices stay symmetric."""
    squares = square_inputs(bench)
    gradient = bench.eager_gradient
    if not squares or not all(bench.close(gradient[i], gradient[i].mT) for i in squares):
        return False
    symmetric = bench.on_symmetric(tuple(bench.positions[i] for i in squares))
    return symmetric.gradient_agrees(symmetric.eager_gradient)


def square_inputs(bench: Bench) -> tuple[int, ...]:
    """The differentiable inputs that are square matrices, or stacks of them."""
    shapes = [bench.sample.args[position].shape for position in bench.positions]
    return tuple(i for i, shape in enumerate(shapes) if len(shape) > 1 and shape[-1] == shape[-2] > 1)
