"""The expression that a condition goes back to by names, arguments and returns: which asks for the rank, draws, or is
measured by a rank alone; and that by which a loop goes through a rank's own part."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.attributes import Found, class_of, kept_in
from gradscope.ranks.source.generated_parts import decides_trips, generated_part
from gradscope.ranks.source.given import Frame, bound_in, frames_of, passed_to
from gradscope.ranks.source.meetings import without_meetings
from gradscope.ranks.source.packed_parts import is_packed
from gradscope.ranks.source.sampled_parts import builds_a_loader, is_exhausted, parts_of_classes
from gradscope.ranks.source.syntax import JUMPS, Function, at_line, statements
from gradscope.store.reader import Recording

_RANK = re.compile(r"(?:^|_)(?:rank|main|master|primary|chief|leader)(?:_|\d|$)", re.IGNORECASE)
_THEIR_NUMBER = re.compile(
    r"world|replicas|(?:^|_)n(?:um)?_?(?:ranks|procs|processes|gpus|workers|devices)", re.IGNORECASE
)
DRAWS = frozenset(
    (
        *("rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "normal", "random", "uniform", "choice"),
        *("choices", "sample", "gauss", "randrange", "integers", "uniform_", "bernoulli_", "random_", "normal_"),
    )
)
_OF_A_MACHINE = frozenset(
    (
        *("exists", "lexists", "is_file", "isfile", "is_dir", "isdir", "glob", "iglob", "rglob", "iterdir", "listdir"),
        *("scandir", "getmtime", "getsize", "disk_usage"),
        *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "now"),
    )
)
_READS = frozenset(("item", "tolist"))
_CALLED = frozenset(("__call__", "forward"))
_RANGES = frozenset(("range", "arange", "islice"))
_MOST = 64  # expressions that are looked at


def rank_that_decides(recording: Recording, stack: Stack) -> Site | None:
    """The line that tells ranks apart, of the conditions by which a program comes to a line, the nearest first."""
    frames = frames_of(recording, stack)
    for at, frame in enumerate(frames):
        for test in _around(frame) if isinstance(frame.function, ast.Module) else conditions_of(frame):
            found = origin(recording, frames[at:], test, asks_for_rank)
            if found is not None:
                return found
    return None


def drawn_for(recording: Recording, stack: Stack, site: Site, test: ast.expr) -> Site | None:
    """The line that draws at random what a condition asks for, in the function of a site, which stands in a stack."""
    frames = frames_of(recording, stack)
    at = next((at for at, one in enumerate(frames) if one.site == site), None)
    return None if at is None else origin(recording, frames[at:], test, draws)


def decided_at(recording: Recording, stack: Stack, condition: Site) -> Site | None:
    """The line that asks the machine of a rank, its disk or its clock, for what a condition goes by, or that measures
    this above the condition, of a rank's own samples: no other rank has a part in it. None where no line is known to,
    or the condition itself measures."""
    frames = frames_of(recording, stack)
    place = condition.file, condition.function
    at = next((at for at, one in enumerate(frames) if (one.site.file, one.site.function) == place), None)
    ifs = [] if at is None else [node for node in ast.walk(frames[at].function) if isinstance(node, ast.If)]
    test = next((node.test for node in ifs if node.lineno == condition.line), None)
    if at is None or test is None or asks_for_rank(test):
        return None

    def alone(around: list[Frame], value: ast.expr) -> ast.expr:
        return without_meetings(recording, around[0], value)

    asked = origin(recording, frames[at:], test, _asks_the_machine, alone)
    measured = origin(recording, frames[at:], test, _measures, alone)
    return asked or (None if measured is None or measured.line == condition.line else measured)


def _asks_the_machine(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and called_name(node) in _OF_A_MACHINE for node in ast.walk(value))


def _measures(value: ast.expr) -> bool:
    """Whether a value is read from a tensor, in which nothing else was put in the place of."""
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    read = (call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _READS)
    return any(not any(_is_nothing(one) for one in ast.walk(each)) for each in read)


def _is_nothing(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def part_of(recording: Recording, stack: Stack, loop: Site) -> Site | None:
    """The line that takes a rank's part of what a loop goes through, builds the loader that this is, decides how much
    is yielded to it, or makes the list; None of a loop that says how far it goes."""
    frames = frames_of(recording, stack)
    place = loop.file, loop.function
    at = next((at for at, one in enumerate(frames) if (one.site.file, one.site.function) == place), None)
    loops = [] if at is None else [one for one in ast.walk(frames[at].function) if isinstance(one, ast.For)]
    around = next((one for one in loops if one.lineno == loop.line), None)
    if at is None or around is None or _is_bounded(around.iter):
        return None
    part = origin(recording, frames[at:], around.iter, takes_part)
    packed = _packed(recording, frames[at:], around) if part is not None and is_exhausted(around) else None
    if part is not None or not is_exhausted(around):
        return packed or part

    def known(inside: list[Frame], through: ast.expr) -> Site | None:
        return origin(recording, inside, through, takes_part) or _of_a_loader(recording, inside, through)

    loader = _of_a_loader(recording, frames[at:], around.iter)
    return loader or generated_part(recording, frames[at:], around, known)


def _packed(recording: Recording, frames: list[Frame], loop: ast.For) -> Site | None:
    """The loop that goes through what was packed after a rank took its part: the part is not why it has more trips."""
    inner, decides, site = decides_trips(recording, frames, loop)
    first: list[bool] = []

    def is_made(value: ast.expr) -> bool:
        is_part = takes_part(value)
        first[:] = [is_part]
        return is_part or is_packed(recording, value, takes_part)

    found = origin(recording, inner, decides, is_made)
    return site if found is not None and first == [False] else None


def _of_a_loader(recording: Recording, frames: list[Frame], through: ast.expr) -> Site | None:
    """What decides how much a loader gives a rank: a line of its sampler or dataset, else the line that builds it."""
    loader = origin(recording, frames, through, builds_a_loader)
    parts = {} if loader is None else parts_of_classes(recording, asks_for_rank)
    made: list[str] = []

    def makes(value: ast.expr) -> bool:
        made.extend(called_name(one) or "" for one in ast.walk(value) if isinstance(one, ast.Call))
        return bool(parts.keys() & made)

    makes_one = loader is not None and origin(recording, frames, through, makes) is not None
    return next((parts[name] for name in made if name in parts), None) if makes_one else loader


def _is_bounded(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and called_name(node) in _RANGES for node in ast.walk(value))


def takes_part(value: ast.expr) -> bool:
    """Whether a value is a part by the number of a rank: of a slice or an index, a range, or a comprehension."""
    for node in ast.walk(value):
        if isinstance(node, ast.Subscript) and asks_for_rank(node.slice):
            return True
        if isinstance(node, ast.Call) and called_name(node) in _RANGES and any(map(asks_for_rank, node.args)):
            return True
        if any(asks_for_rank(test) for one in getattr(node, "generators", ()) for test in one.ifs):
            return True
    return False


def _around(frame: Frame) -> Iterator[ast.expr]:
    """The conditions around a line that stands in no function, the innermost first."""
    around = [node for node in ast.walk(frame.tree) if isinstance(node, ast.If) and node.lineno < frame.site.line]
    for node in sorted(around, key=lambda one: -one.lineno):
        if frame.site.line <= (node.body[-1].end_lineno or 0):
            yield node.test


def conditions_of(frame: Frame) -> Iterator[ast.expr]:
    """Those around a line, and those above it under which its function is left, in the function of a frame."""
    line = frame.site.line
    if isinstance(frame.function, ast.Module | ast.Lambda):
        return
    above = [node for node in ast.walk(frame.function) if isinstance(node, ast.If) and node.lineno < line]
    for node in sorted(above, key=lambda one: -one.lineno):
        around = line <= (node.end_lineno or 0)
        if around or isinstance(node.body[-1], JUMPS):
            yield node.test


def choices_at(frame: Frame) -> Iterator[ast.expr]:
    """The conditions on the line of a frame that stand in an expression: of one of two values, or of calls in a row."""
    for node in ast.walk(frame.function):
        if isinstance(node, ast.IfExp | ast.BoolOp) and node.lineno <= frame.site.line <= (node.end_lineno or 0):
            yield node.test if isinstance(node, ast.IfExp) else node.values[0]


def names_their_number(value: ast.expr | ast.stmt) -> bool:
    """Whether something in an expression is called as the number of ranks is."""
    return any(map(_THEIR_NUMBER.search, _names(value)))


def asks_for_rank(value: ast.expr) -> bool:
    """Whether a condition asks which rank it is, as far as its names tell."""
    return any(_RANK.search(name) for name in _names(value))


def draws(value: ast.expr) -> bool:
    """Whether a value is drawn at random."""
    return any(isinstance(node, ast.Call) and called_name(node) in DRAWS for node in ast.walk(value))


def origin(
    recording: Recording,
    frames: list[Frame],
    value: ast.expr,
    wanted: Callable[[ast.expr], bool],
    seen_as: Callable[[list[Frame], ast.expr], ast.expr] = lambda frames, value: value,
    given_by: Callable[[Recording, list[Frame], ast.Call], list[Found]] = lambda recording, frames, call: [],
) -> Site | None:
    """The line of the first wanted expression from which a value comes; `given_by`: what a call gives that is none of a
    function of the program's."""
    waiting = [(frames, value)]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        around, now = waiting.pop(0)
        if id(now) in seen:
            continue
        seen.add(id(now))
        now = seen_as(around, now)
        if wanted(now):
            return at_line(recording, around[0].site, now.lineno)
        calls = (node for node in ast.walk(now) if isinstance(node, ast.Call))
        returned = {one: _returned(recording, around, one) or given_by(recording, around, one) for one in calls}
        kept = {node: kept_in(recording, around, node) for node in ast.walk(now)}
        known = {name for call, values in returned.items() if values for name in ast.walk(call.func)}
        known |= {name for node, values in kept.items() if values for name in ast.walk(node)}
        waiting += chain.from_iterable(returned.values())
        names = [node.id for node in ast.walk(now) if isinstance(node, ast.Name) and node not in known]
        waiting += [one for name in names for one in _bound(around, name, now.lineno)]
        waiting += chain.from_iterable(kept.values())
    return None


def _bound(frames: list[Frame], name: str, line: int) -> Iterator[tuple[list[Frame], ast.expr]]:
    """What a name was bound to, and the conditions around that; else what the caller gives for it."""
    bound = bound_in(frames[0], name, line)
    if bound is None:
        passed = passed_to(frames, 0, name)
        if passed is not None:
            yield frames[1:], passed
        return
    yield frames, bound[1]
    for node in ast.walk(frames[0].function):
        if isinstance(node, ast.If) and node.lineno < bound[0] <= (node.end_lineno or 0) < line:
            yield frames, node.test
        is_part = isinstance(node, ast.Assign) and node.lineno == bound[0] and _is_of_a_part(node)
        if is_part and bound[0] < line:  # above the first in a file comes the last one again
            yield from _bound(frames, name, bound[0])


def _is_of_a_part(node: ast.Assign) -> bool:
    """Whether something is put into what has a name, which has the rest of it from elsewhere."""
    return all(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets)


def _returned(recording: Recording, frames: list[Frame], call: ast.Call) -> list[tuple[list[Frame], ast.expr]]:
    """What a function of the program's returns that is called, where only one has its name."""
    found = [
        (Site(file, node.lineno, node.name), node)
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1, ""))
        if isinstance(node, Function) and node.name == called_name(call)
    ]
    if len(found) != 1:
        return []
    (site, function), caller = found[0], replace(frames[0], site=replace(frames[0].site, line=call.lineno))
    return _values_of(Frame(site, ast.Module([], []), function), [caller, *frames[1:]])


def given_by_objects(recording: Recording, frames: list[Frame], call: ast.Call) -> list[Found]:
    """What an object of a class of the program's gives where it is called, by a variable of a function or an attribute
    that one line sets: such as a criterion."""
    places = [(frames, call.func), *kept_in(recording, frames, call.func)]
    own = next((one for place in places if (one := class_of(recording, *place)) is not None), None)
    if own is None or own.node.name == called_name(call):
        return []  # to make an object is not to call it
    called = [one for one in own.node.body if isinstance(one, Function) and one.name in _CALLED]
    if len(called) != 1:
        return []
    caller = replace(frames[0], site=replace(frames[0].site, line=call.lineno))
    frame = Frame(Site(own.file, called[0].lineno, called[0].name), own.tree, called[0])
    return _values_of(frame, [caller, *frames[1:]])


def _values_of(frame: Frame, around: list[Frame]) -> list[Found]:
    """What a function returns, each value where it stands."""
    returns = (node.value for node in ast.walk(frame.function) if isinstance(node, ast.Return) and node.value)
    return [([replace(frame, site=replace(frame.site, line=one.lineno)), *around], one) for one in returns]


def _names(value: ast.AST) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
