"""Where the generator is seeded by which a stream of the program's own draws its data: alike on all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.functions.source import called_name, is_attribute_of
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.attributes import Found, class_around, class_of, kept_in
from gradscope.ranks.source.deciding import DRAWS, asks_for_rank, origin
from gradscope.ranks.source.given import Frame, Made, data_inside, made_by, parameters_of, passed_to
from gradscope.ranks.source.syntax import Function, at_line, statements, tree_of
from gradscope.store.reader import Recording

_BY = "generator"  # the argument that says by what something is drawn
_SEED = "manual_seed"
_MAKES_SEEDED = frozenset((_SEED, "default_rng", "Random", "RandomState", "PCG64", "Philox"))
_ORDERS = frozenset(("randperm", "permutation", "permuted", "shuffle"))
_LOADER = "DataLoader"
_LONGEST = 8  # callers of callers


def stream_seeded_at(recording: Recording, stack: Stack) -> Site | None:
    """The line that gives the seed by which the program's own stream draws all that a model is given; `stack` is that
    of the model's call. None where it draws by several, or an order, which ranks may share on purpose."""
    made = made_by(recording, stack)
    drawn = [] if made is None else [one for place in _places(recording, made) for one in _drawn(place)]
    if not drawn or any(called_name(call) in _ORDERS for _, call in drawn):
        return None
    sites = {_seeded(recording, frames, _generator(call)) for frames, call in drawn}
    return sites.pop() if len(sites) == 1 else None


def _places(recording: Recording, made: Made) -> Iterator[list[Frame]]:
    """The functions that make data: a function of the program's, or the methods of one of its classes."""
    caller = replace(made.frames[0], site=replace(made.frames[0].site, line=made.line))
    for frames, value in _makers(recording, [caller, *made.frames[1:]], made.value):
        if not isinstance(value, ast.Call):
            continue
        own = class_of(recording, frames, value)
        if own is None and isinstance(value.func, ast.Attribute):
            own = class_of(recording, frames, value.func.value)
            own = own or next((class_of(recording, *at) for at in kept_in(recording, frames, value.func.value)), None)
        body = [] if own is None else own.node.body
        methods = [] if own is None else [(own.file, own.tree, one) for one in body if isinstance(one, Function)]
        for file, tree, one in methods or _functions(recording, called_name(value)):
            if one.name != "__init__":
                yield [Frame(Site(file, one.lineno, one.name), tree, one), *frames]


def _makers(recording: Recording, frames: list[Frame], value: ast.expr) -> Iterator[Found]:
    """What makes data, by attributes too: the data set, of a loader."""
    if isinstance(value, ast.Call):
        given = value.args[:1] if called_name(value) == _LOADER else []
        yield from _makers(recording, frames, given[0]) if given else [(frames, value)]
        return
    if isinstance(value, ast.Name):
        value = _on_line(frames[0], frames[0].site.line) or value
    while (decides := data_inside(value)) is not None and not isinstance(value, ast.Attribute):
        value = decides
    yield from ((frames, value),) if isinstance(value, ast.Call) else kept_in(recording, frames, value)


def _on_line(frame: Frame, line: int) -> ast.expr | None:
    """What a line goes through, or binds."""
    nodes = (one for one in ast.walk(frame.function) if getattr(one, "lineno", 0) == line)
    found = (one for one in nodes if isinstance(one, ast.For | ast.Assign))
    return next((one.iter if isinstance(one, ast.For) else one.value for one in found), None)


def _functions(recording: Recording, name: str) -> list[tuple[str, ast.Module, Function]]:
    """The program's function of a name, where there is one."""
    found = [
        (file, tree_of(recording, Site(file, 1, "")), node)
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1, ""))
        if isinstance(node, Function) and node.name == name
    ]
    return found if len(found) == 1 else []


def _drawn(frames: list[Frame]) -> Iterator[tuple[list[Frame], ast.Call]]:
    """The calls in a function that draw, each where it stands: not those of methods of its class, which do so."""
    own = class_around(frames[0])
    methods = {one.name for one in own.node.body if isinstance(one, Function)} if own is not None else set()
    for node in ast.walk(frames[0].function):
        is_own = isinstance(node, ast.Call) and is_attribute_of(node.func, "self") and called_name(node) in methods
        if isinstance(node, ast.Call) and called_name(node) in DRAWS | _ORDERS and not is_own:
            frame = replace(frames[0], site=replace(frames[0].site, line=node.lineno))
            yield [frame, *frames[1:]], node


def _generator(call: ast.Call) -> ast.expr:
    """By what a call draws: what it is told, else the object whose method it is."""
    told = next((one.value for one in call.keywords if one.arg == _BY), None)
    return told or (call.func.value if isinstance(call.func, ast.Attribute) else call.func)


def _seeded(recording: Recording, frames: list[Frame], generator: ast.expr) -> Site | None:
    """The line that gives a generator its seed; None where it is a rank's own, or nothing tells."""
    later = _seeded_later(frames[0], generator)
    if later is not None:
        return at_line(recording, frames[0].site, later.lineno) if not asks_for_rank(later) else None
    around: list[list[Frame]] = []
    seeds: list[ast.Call] = []

    def noted(frames: list[Frame], value: ast.expr) -> ast.expr:
        around[:] = [frames]
        return value

    def makes(value: ast.expr) -> bool:
        seeds[:] = [one for one in ast.walk(value) if isinstance(one, ast.Call) and _gives_a_seed(one)]
        return bool(seeds)

    site = origin(recording, frames, generator, makes, noted)
    if site is None:
        return None
    inner = around[0] if len(around[0]) > 1 else [*around[0], *frames[1:]]  # which may be where the object is made
    return _told_at(recording, inner, site, seeds[0].args[0])


def _gives_a_seed(call: ast.Call) -> bool:
    return called_name(call) in _MAKES_SEEDED and bool(call.args)


def _seeded_later(frame: Frame, generator: ast.expr) -> ast.Call | None:
    """The only call in a class that seeds what has been made before, under the name that it is used by."""
    name, own = ast.unparse(generator), class_around(frame)
    nodes = () if own is None else ast.walk(own.node)
    calls = (one for one in nodes if isinstance(one, ast.Call) and _gives_a_seed(one))
    found = [one for one in calls if isinstance(one.func, ast.Attribute) and ast.unparse(one.func.value) == name]
    return found[0] if len(found) == 1 and name.startswith("self.") else None


def _told_at(recording: Recording, frames: list[Frame], site: Site, seed: ast.expr) -> Site | None:
    """The line that gives the number: of a parameter, that of the call; None where a rank has its own."""
    for _ in range(_LONGEST):
        if asks_for_rank(seed):
            return None
        is_given = isinstance(seed, ast.Name) and frames and seed.id in parameters_of(frames[0].function)
        passed = passed_to(frames, 0, seed.id) if is_given and isinstance(seed, ast.Name) else None
        if passed is None:
            break
        frames, seed = frames[1:], passed
        site = at_line(recording, frames[0].site, passed.lineno)
    return site
