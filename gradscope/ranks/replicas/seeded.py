"""By which seed a rank drew the parameters that other ranks have otherwise, or where they were drawn without any."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.attributes import calls_of, class_around
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import SEEDS, Frame, frames_of
from gradscope.ranks.source.syntax import Function
from gradscope.store.reader import Recording

_DRAWS = frozenset(("uniform_", "normal_", "rand", "randn"))
_OF_TORCH = frozenset(("torch", "torch.random"))  # else it is a generator's own, or that of a device
_SEED = "manual_seed"

Way = tuple[tuple[Site, ...], list[Frame], ast.Call]  # sites from outside in


def seeded_at(recording: Recording, leaf: str) -> Site | None:
    """The line that gives the last seed before a parameter was drawn another value on each rank; where the program has
    no seed at all, the line that builds the model. None where another line made the parameter, or nothing tells."""
    stack = _drawn(recording, leaf)
    if not stack:
        return None
    seeds = list(_seeds(recording))
    if not seeds:
        return _built(recording, stack)
    drawn = _from_outside(stack)
    before = [(whole, frames, call) for way, frames, call in seeds if (whole := _before(way, drawn))]
    if not before:
        return None
    _, frames, call = max(before, key=lambda each: [one.line for one in each[0]])
    return origin(recording, frames, call.args[0], asks_for_rank) if call.args else None


def _drawn(recording: Recording, leaf: str) -> Stack:
    """Under which stack a parameter was drawn that nothing else had a part in before the first backward call."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    own = {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    found: Stack = ()
    for one in _before_backwards(recording):
        if own.isdisjoint(storages.get(at) for at in one.makes):
            continue
        if not own.issuperset(storages.get(each.tensor) for each in one.reads):
            return ()
        if base_name(one.operation.name) in _DRAWS:
            found = one.operation.stack
    return found


def _before_backwards(recording: Recording) -> Iterator[FlowOperation]:
    for one in recording.flow():
        if one.backward is not None:
            return
        yield one


def _built(recording: Recording, stack: Stack) -> Site | None:
    """The innermost line that is in no class which has a forward: it builds the model."""
    return next((one.site for one in frames_of(recording, stack) if not _is_of_a_module(one)), None)


def _is_of_a_module(frame: Frame) -> bool:
    own = class_around(frame)
    return own is not None and any(isinstance(one, Function) and one.name == "forward" for one in own.node.body)


def _seeds(recording: Recording) -> Iterator[Way]:
    """The calls that seed torch's own random numbers, by each way that the source comes to them."""
    for file, tree, call in calls_of(recording, *SEEDS):
        if called_name(call) != _SEED or not isinstance(call.func, ast.Attribute) or _is_of_torch(call.func):
            for frames in ways_to(recording, file, tree, call.lineno):
                yield tuple(frame.site for frame in reversed(frames)), frames, call


def _is_of_torch(function: ast.Attribute) -> bool:
    return ast.unparse(function.value) in _OF_TORCH


def _from_outside(stack: Stack) -> tuple[Site, ...]:
    return tuple(site for site in reversed(stack) if site.origin is Origin.USER)


def _before(way: tuple[Site, ...], drawn: tuple[Site, ...]) -> tuple[Site, ...]:
    """The whole way to a line to which the source comes before another one; none where it comes there later, or where
    no function that leads to the one leads to the other."""
    start = next((at for at, one in enumerate(drawn) if one.is_in_function_of(way[0])), len(drawn))
    whole = drawn[:start] + way
    one, two = next(((one, two) for one, two in zip(whole, drawn, strict=False) if not _is_at(one, two)), (None, None))
    is_before = one is not None and two is not None and one.is_in_function_of(two) and one.line < two.line
    return whole if is_before else ()


def _is_at(one: Site, two: Site) -> bool:
    return one.is_in_function_of(two) and one.line == two.line
