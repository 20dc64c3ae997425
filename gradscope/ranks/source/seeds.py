"""Which seed or stored state of torch's random numbers a program comes to last, before it draws by them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.functions.source import called_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import DRAWS, asks_for_rank, origin
from gradscope.ranks.source.given import SEEDS, Frame, frames_of
from gradscope.ranks.source.syntax import Loop, at_line, statements
from gradscope.store.reader import Recording

RESTORES = frozenset(("set_rng_state", "set_state"))
_OF_TORCH = frozenset(("torch", "torch.random"))  # else it is a generator's own, or that of a device
_BY = "generator"  # the argument that says by what something is drawn
_OF_SOMETHING = frozenset(("manual_seed", *RESTORES))


@dataclass(frozen=True, slots=True)
class Seed:
    """A call that seeds random numbers or restores their state, by a way that the source comes to it: its frames, the
    innermost first."""

    frames: list[Frame]
    call: ast.Call

    @property
    def way(self) -> tuple[Site, ...]:
        """The lines on the way, from outside in."""
        return tuple(frame.site for frame in reversed(self.frames))

    @property
    def restores(self) -> bool:
        """Whether it puts a state back, and counts from no number."""
        return called_name(self.call) in RESTORES

    def site(self, recording: Recording) -> Site:
        """Its line."""
        return at_line(recording, self.frames[0].site, self.call.lineno)


def seeds_of_torch(recording: Recording, restoring: bool = False) -> Iterator[Seed]:
    """The calls that seed torch's own random numbers, or restore them as well, by each way that the source comes to
    them."""
    for file, tree, call in calls_of(recording, *SEEDS, *(RESTORES if restoring else ())):
        own = called_name(call) in _OF_SOMETHING and isinstance(call.func, ast.Attribute)
        if not own or (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in _OF_TORCH):
            for frames in ways_to(recording, file, tree, call.lineno):
                yield Seed(frames, call)


def only_restoring(recording: Recording) -> Seed | None:
    """The call that restores a state of random numbers, of whatever draws by it, where the source has only one."""
    calls = list(calls_of(recording, *RESTORES, "setstate"))
    if len(calls) != 1:
        return None
    file, tree, call = calls[0]
    return Seed(next(ways_to(recording, file, tree, call.lineno)), call)


def last_before(seeds: list[Seed], stack: Stack) -> Seed | None:
    """The last of some that the source comes to before it runs something under a stack."""
    run = tuple(site for site in reversed(stack) if site.origin is Origin.USER)
    before = [(whole, seed) for seed in seeds if (whole := _before(seed.way, run))]
    return max(before, key=lambda each: [one.line for one in each[0]])[1] if before else None


def is_over_before(recording: Recording, seed: Seed, stack: Stack) -> bool:
    """Whether the source comes to a seed before it runs something under a stack, and in no loop around both again."""
    if last_before([seed], stack) is None:
        return False
    run = [site for site in reversed(stack) if site.origin is Origin.USER]
    start = next((at for at, one in enumerate(run) if one.is_in_function_of(seed.way[0])), len(run))
    pairs = (pair for pair in zip(seed.way, run[start:], strict=False) if pair[0].is_in_function_of(pair[1]))
    return not any(_in_one_loop(recording, *pair) for pair in pairs)


def _in_one_loop(recording: Recording, one: Site, other: Site) -> bool:
    loops = (node for node in statements(recording, one) if isinstance(node, Loop))
    return any(all(loop.lineno <= each.line <= (loop.end_lineno or 0) for each in (one, other)) for loop in loops)


def named_for_rank(recording: Recording, seed: Seed) -> Site | None:
    """The line that gives a seed the number of the rank; None where it has another one."""
    return origin(recording, seed.frames, seed.call.args[0], asks_for_rank) if seed.call.args else None


def drawing_calls(recording: Recording, stack: Stack, given: bool = False) -> list[ast.Call]:
    """The calls on the innermost line of a stack that draw; `given`: those that are given a generator."""
    frames = frames_of(recording, stack)[:1]
    nodes = (node for frame in frames for node in ast.walk(frame.function) if isinstance(node, ast.Call))
    calls = [one for one in nodes if one.lineno == frames[0].site.line and called_name(one) in DRAWS]
    return [one for one in calls if any(each.arg == _BY for each in one.keywords)] if given else calls


def _before(way: tuple[Site, ...], run: tuple[Site, ...]) -> tuple[Site, ...]:
    """The whole way to a line to which the source comes before another one; none where it comes there later, or where
    no function that leads to the one leads to the other."""
    start = next((at for at, one in enumerate(run) if one.is_in_function_of(way[0])), len(run))
    whole = run[:start] + way
    one, two = next(((one, two) for one, two in zip(whole, run, strict=False) if not _is_at(one, two)), (None, None))
    is_before = one is not None and two is not None and one.is_in_function_of(two) and one.line < two.line
    return whole if is_before else ()


def _is_at(one: Site, two: Site) -> bool:
    return one.is_in_function_of(two) and one.line == two.line
