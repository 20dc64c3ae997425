"""Inputs guessed from forward's signature: a few shapes times a few scalars with hints from the names.

A guess counts when forward takes it and gives finite tensors. It calls user code, so it runs in the child process.
"""

from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.build import finite
from gradscope.functions.inputs.sample import Sample, make_sample, tensors_in
from gradscope.functions.seeding import seed_torch
from gradscope.functions.source import Method
from gradscope.functions.subject import Subject

TRIES = 400
SECONDS = 8.0
DOUBTS = 60  # guesses that forward takes and backward does not: then backward is to blame
SHAPES: tuple[tuple[int, ...], ...] = ((3, 4), (4, 4), (4,), (2, 3, 4), (1,), (2, 3, 4, 4), ())
INTEGER_NAMES = ("idx", "index", "indices", "target", "label", "labels", "ids", "segment", "offsets")
BOOLEAN_NAMES = ("mask", "keep", "where", "cond")
VECTOR_NAMES = ("bias", "gamma", "beta", "weight", "scale", "w", "b")
SCALARS: tuple[tuple[tuple[str, ...], tuple[Any, ...]], ...] = (
    (("dim", "axis"), (-1, 0, 1)),
    (("eps", "epsilon"), (1e-5,)),
    (("shape", "size"), ((3, 4), 4)),
    (("n", "k", "num", "bits", "steps", "groups", "stride", "kernel", "heads", "idx"), (2, 1, 4)),
    (("training", "inplace", "reduce", "mean", "causal", "keepdim", "flag", "bias"), (False, True)),
    (
        (
            "alpha",
            "lambd",
            "scale",
            "p",
            "slope",
            "temperature",
            "threshold",
            "power",
            "factor",
            "scalar",
            "coef",
            "lr",
            "min",
            "max",
        ),
        (0.5, 2, 1),
    ),
    (("mode", "reduction"), ("mean", "sum", "none")),
    (("fn", "func", "function", "f"), (torch.tanh,)),
    (("group",), (None,)),
)


def guess(subject: Subject, wanted: int = 2, blind: bool = False, device: str = "cpu") -> list[Sample]:
    """Up to `wanted` samples of different shapes that forward accepts.

    Those that backward accepts, too, come first: a backward that fails on a few of them may be right, and the guess
    bad; one that fails on many is wrong. `blind` leaves backward alone, which may have ended the process before.
    """
    forward = subject.method("forward")
    if forward is None:
        return []
    found: list[Sample] = []
    doubtful: list[Sample] = []
    deadline = time.monotonic() + SECONDS
    for number, args in enumerate(guesses(subject)):
        if len(found) >= wanted or len(doubtful) >= DOUBTS or time.monotonic() > deadline:
            break
        sample = replace(make_sample(args), guess=number).on(device)
        if sample.differentiable and not any(same_kind(args, other.args) for other in found):
            outputs = outputs_of(subject.function.apply, sample)
            if outputs:
                (found if blind or backward_runs(outputs) else doubtful).append(sample)
    return found or different(doubtful, wanted)


def guesses(subject: Subject) -> Iterator[tuple[Any, ...]]:
    """All that is tried, in order; the same every time."""
    forward = subject.method("forward")
    return itertools.islice(candidates(forward, subject.separate_context), TRIES) if forward else iter(())


def guessed_again(subject: Subject, numbers: tuple[int, ...]) -> list[Sample]:
    """The guesses with these numbers, without running anything."""
    chosen = {number: args for number, args in enumerate(guesses(subject)) if number in numbers}
    return [replace(make_sample(chosen[number]), guess=number) for number in numbers]


def refusal(subject: Subject, device: str) -> str:
    """What the Function says to the first guess, where it takes none."""
    for args in guesses(subject):
        try:
            subject.function.apply(*make_sample(args).on(device).fresh())
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0][:200]
        break
    return ""


def different(samples: list[Sample], wanted: int) -> list[Sample]:
    """The first samples whose first tensors differ in shape."""
    chosen: list[Sample] = []
    for sample in samples:
        if len(chosen) < wanted and not any(same_kind(sample.args, other.args) for other in chosen):
            chosen.append(sample)
    return chosen


def same_kind(args: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether the first tensors have one shape: a second guess shall differ."""
    first = next((v for v in args if isinstance(v, Tensor)), None)
    second = next((v for v in others if isinstance(v, Tensor)), None)
    return first is not None and second is not None and first.shape == second.shape


def outputs_of(apply: Callable[..., Any], sample: Sample) -> list[Tensor]:
    """The tensors that forward gives for it, or none when it refuses or gives NaN."""
    try:
        seed_torch(0)
        # no leaves, because forward may write in place
        args = [value * 1 if isinstance(value, Tensor) and value.requires_grad else value for value in sample.fresh()]
        outputs = tensors_in(apply(*args))
    except Exception:
        return []
    return outputs if all(finite(output) for output in outputs) else []


def backward_runs(outputs: list[Tensor]) -> bool:
    """Whether a gradient can be sent through."""
    targets = [o for o in outputs if o.requires_grad and o.is_floating_point()]
    try:
        torch.autograd.backward(targets, [torch.ones_like(t) for t in targets])
    except Exception:
        return False
    return True


def candidates(forward: Method, separate_context: bool) -> Iterator[tuple[Any, ...]]:
    """Argument tuples, the likeliest first: tensors for everything, then scalars by name, shape by shape."""
    parameters = [p for p in forward.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    parameters = parameters if separate_context else parameters[1:]
    if not parameters and (forward.takes_any or not forward.parameters):
        names = ("x", "y") if forward.takes_any else ("x",)  # a forward without a signature is written in C
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    for positive in (False, True):
        for shape in SHAPES:
            generator = torch.Generator().manual_seed(len(shape))
            choices = [options(p, shape, positive, generator) for p in parameters]
            yield from itertools.islice(itertools.product(*choices), 40)


def options(
    parameter: inspect.Parameter, shape: tuple[int, ...], positive: bool, generator: torch.Generator
) -> list[Any]:
    """What one parameter may be, judged by its default, its annotation and its name."""
    name = parameter.name.lower().strip("_")
    words = set(name.split("_")) | {name}
    tensor = random_tensor(shape, positive, generator)
    if parameter.default is not parameter.empty:
        return [parameter.default]
    if words & set(BOOLEAN_NAMES):
        return [tensor > tensor.mean()]
    if words & set(INTEGER_NAMES) and parameter.annotation is not int:
        return [torch.randint(0, 2, shape[:1], generator=generator), torch.randint(0, 2, shape, generator=generator), 1]
    scalars = [values for names, values in SCALARS if words & set(names)]
    known: dict[Any, list[Any]] = {int: [2, 1], float: [0.5, 2.0], bool: [False, True]}
    annotated = known.get(annotation_of(parameter))
    if annotated:
        return [*(scalars[0] if scalars else ()), *annotated]
    tensors = [tensor]
    last = shape[-1] if shape else 4
    if words & set(VECTOR_NAMES):
        tensors = [
            random_tensor(shape[-1:], positive, generator),
            tensor,
            random_tensor((last, last), positive, generator),
        ]
    return [*(scalars[0] if scalars else ()), *tensors] if scalars else [*tensors, 2, 0.5]


def annotation_of(parameter: inspect.Parameter) -> Any:
    """The annotation as a type, also when it is written as a string."""
    names = {"int": int, "float": float, "bool": bool}
    annotation = parameter.annotation
    return (
        names.get(annotation) if isinstance(annotation, str) else annotation if annotation in names.values() else None
    )


def random_tensor(shape: tuple[int, ...], positive: bool, generator: torch.Generator) -> Tensor:
    """Values away from zero, where many formulas have kinks."""
    values = torch.rand(shape, generator=generator) + 0.3
    if positive:
        return values
    return values * (torch.randint(0, 2, shape, generator=generator) * 2 - 1)
