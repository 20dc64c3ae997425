"""Inputs guessed from the source: values seen at call sites, a few shapes, and numbers that the names suggest.

A guess counts when forward takes it and gives finite tensors. It calls user code, so it runs in the child process.
"""

from __future__ import annotations

import inspect
import itertools
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.build import finite
from gradscope.functions.inputs.call_sites import UNKNOWN, CallSite, Unknown
from gradscope.functions.inputs.clues import Clue, Kind, clues_of
from gradscope.functions.inputs.options import options
from gradscope.functions.inputs.sample import Sample, make_sample, tensors_in
from gradscope.functions.seeding import seed_torch
from gradscope.functions.subject import Subject

Calls = Sequence[CallSite]
TRIES = 400
SECONDS = 5.0
MOST_VALUES = 4  # of one parameter that call sites pass
DOUBTS = 60  # guesses that forward takes and backward does not: then backward is to blame
SHAPES: tuple[tuple[int, ...], ...] = ((3, 4), (4, 4), (4,), (2, 3, 4), (1,), (2, 3, 4, 4), ())


@dataclass(frozen=True)
class Guess:
    """Arguments to try. `wanted` are the places that backward has a gradient for; `origin` names call sites."""

    args: tuple[Any, ...]
    wanted: tuple[int, ...]
    origin: str = ""

    def sample(self, number: int) -> Sample:
        """The sample: of the tensors, those require grad that get one, or all where none does."""
        made = make_sample(self.args)
        chosen = tuple(place for place in made.differentiable if place in self.wanted)
        return replace(made, differentiable=chosen or made.differentiable, guess=number, origin=self.origin)


def guess(
    subject: Subject, wanted: int = 2, blind: bool = False, device: str = "cpu", calls: Calls = ()
) -> list[Sample]:
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
    for number, candidate in enumerate(guesses(subject, calls)):
        if len(found) >= wanted or len(doubtful) >= DOUBTS or time.monotonic() > deadline:
            break
        sample = candidate.sample(number).on(device)
        if sample.differentiable and not any(same_kind(sample.args, other.args) for other in found):
            outputs = outputs_of(subject.function.apply, sample)
            if outputs:
                (found if blind or backward_runs(outputs) else doubtful).append(sample)
    return found or different(doubtful, wanted)


def guesses(subject: Subject, calls: Calls) -> Iterator[Guess]:
    """All that is tried, in order; the same every time."""
    return itertools.islice(candidates(subject, calls), TRIES)


def guessed_again(subject: Subject, numbers: tuple[int, ...], calls: Calls) -> list[Sample]:
    """The guesses with these numbers, without running anything."""
    if not numbers:
        return []
    return [candidate.sample(number) for number, candidate in enumerate(guesses(subject, calls)) if number in numbers]


def refusal(subject: Subject, device: str, calls: Calls) -> str:
    """What the Function says to the first guess, where it takes none."""
    for number, candidate in enumerate(guesses(subject, calls)):
        try:
            subject.function.apply(*candidate.sample(number).on(device).fresh())
        except Exception as error:
            return f"{type(error).__name__}: {str(error) or raising_line(error)}".splitlines()[0][:200]
        break
    return ""


def raising_line(error: Exception) -> str:
    """What raised, of an exception that says nothing: most are assertions."""
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].line or "") if frames else ""


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
    """Whether a gradient can be sent through and comes out as numbers."""
    targets = [o for o in outputs if o.requires_grad and o.is_floating_point()]
    nodes = {edge for target in targets if target.grad_fn for edge, _ in target.grad_fn.next_functions if edge}
    found: list[bool] = []
    for node in nodes:
        node.register_prehook(lambda grads: found.extend(finite(grad) for grad in grads if grad is not None))
    try:
        torch.autograd.backward(targets, [torch.ones_like(t) for t in targets])
    except Exception:
        return False
    return all(found)


def candidates(subject: Subject, calls: Calls) -> Iterator[Guess]:
    """Argument tuples, the likeliest first: what the package itself passes, then shape by shape what fits the clues."""
    clues = clues_of(subject) or without_signature(subject)
    fitting = [site for site in calls if len(site.arguments) <= len(clues)]
    seen = [values_at(fitting, place) for place in range(len(clues))]
    origin = ", ".join(dict.fromkeys(site.place for site in fitting[:2])) if any(map(known, seen)) else ""
    wanted = tuple(place for place, clue in enumerate(clues) if clue.gradient)
    for positive in (False, True):
        for shape in SHAPES:
            generator = torch.Generator().manual_seed(len(shape))
            choices = [
                options(clue, seen[place], shape, place == 0, positive, generator) for place, clue in enumerate(clues)
            ]
            for args in itertools.islice(likeliest_first(choices), 40):
                yield Guess(args, wanted, origin)


def values_at(calls: Calls, place: int) -> tuple[Any, ...]:
    """The different values that calls pass in one place."""
    found: list[Any] = []
    for site in calls:
        value = site.arguments[place] if place < len(site.arguments) else UNKNOWN
        if not any(type(value) is type(other) and value == other for other in found):
            found.append(value)
    return tuple(found[:MOST_VALUES])


def known(values: tuple[Any, ...]) -> bool:
    """Whether the source says one of these values."""
    return any(not isinstance(value, Unknown) for value in values)


def without_signature(subject: Subject) -> list[Clue]:
    """Clues for a forward that takes *args, or that is written in C and has no signature."""
    forward = subject.method("forward")
    if forward is None or (forward.parameters and not forward.takes_any):
        return []
    names = ("x", "y") if forward.takes_any else ("x",)
    return [Clue(inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY), Kind.TENSOR) for name in names]


def likeliest_first(choices: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """All combinations, those first that take the earlier options of their parameters."""
    lengths = [len(options) for options in choices]
    for total in range(sum(lengths) - len(lengths) + 1):
        for places in places_that_sum(total, lengths):
            yield tuple(options[place] for options, place in zip(choices, places, strict=True))


def places_that_sum(total: int, lengths: list[int]) -> Iterator[tuple[int, ...]]:
    """Tuples of numbers below each of the lengths that add up to the total."""
    if not lengths:
        yield from [()] if total == 0 else []
        return
    for first in range(min(total, lengths[0] - 1) + 1):
        for rest in places_that_sum(total - first, lengths[1:]):
            yield first, *rest
