"""Where what a model is given comes from: the loader, the sampler, the draw or the seed, by the names in the source.

It starts at the call of the model, and goes from a name to where that was bound: by a loop, by an assignment, or by the
caller. What it cannot follow is the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.source.syntax import at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_LONGEST = 32  # steps from name to name
_THROUGH = frozenset(("enumerate", "iter", "next", "zip", "islice", "cycle", "list", "tuple", "reversed", "tqdm"))
_JOINS = frozenset(("cat", "concat", "concatenate", "stack", "hstack", "vstack"))
_FILLS = frozenset(
    ("ones", "zeros", "full", "ones_like", "zeros_like", "full_like", "new_ones", "new_zeros", "new_full")
)
_CONVERTS = frozenset(
    (
        *("to", "cuda", "cpu", "float", "double", "half", "long", "clone", "detach", "view", "reshape", "contiguous"),
        *("requires_grad_", "unsqueeze", "squeeze"),
    )
)
_COUNTS = frozenset(("range", "count", "trange"))
_CHOOSES = ("batch_sampler", "sampler", "generator")  # arguments that say which samples are taken
_LOADER, _STREAM = "DataLoader", "IterableDataset"
_DRAWS = frozenset(("rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "bernoulli"))
_SENT = ("tensor", "input_tensor", "input")  # as collectives call what they send
_PUTS_FIRST = ("all_gather", "reduce_scatter", "all_to_all")  # how those are called that first take what they fill
SEEDS = frozenset(("manual_seed", "manual_seed_all", "seed_everything", "set_seed"))

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


@dataclass(frozen=True, slots=True)
class Frame:
    """A function of the program's that runs, and its line."""

    site: Site
    tree: ast.Module
    function: Function


@dataclass(frozen=True, slots=True)
class Made:
    """An expression that makes data, the line to which they go back, and the functions around it."""

    frames: list[Frame]
    line: int
    value: ast.expr


def origin_of(recording: Recording, stack: Stack, seeds: bool = True) -> Site | None:
    """The line that what a model is given goes back to; `stack` is that of the model's call. With `seeds`, that of the
    seed of what is drawn. A loader of a stream is told by what makes the stream, which nothing else parts."""
    made = made_by(recording, stack)
    if made is None:
        return next((one.site for one in frames_of(recording, stack)), None)
    frame, line = made.frames[0], made.line
    seeded = _seeded(frame, line) if seeds and _last_name(made.value) in _DRAWS else None
    if seeded is not None:
        return at_line(recording, frame.site, seeded)
    return _streamed(recording, made) or at_line(recording, frame.site, line)


def loaded_at(recording: Recording, stack: Stack) -> Site | None:
    """The line that makes the loader, or its stream, of which a model is given something under a stack; None where it
    is given what something else makes."""
    made = made_by(recording, stack)
    if made is None or _last_name(made.value) not in {_LOADER, *_streams(recording), *_yielding(recording)}:
        return None
    return _streamed(recording, made) or at_line(recording, made.frames[0].site, made.line)


def made_by(recording: Recording, stack: Stack) -> Made | None:
    """What makes the data that a model is given; `stack` is that of the model's call, which gives it something."""
    frames = frames_of(recording, stack)
    calls = sorted(_calls(frames[0]), key=lambda call: not _calls_a_value(frames[0], call)) if frames else []
    given = next(filter(None, map(_first_argument, calls)), None)
    if given is None:
        return None
    at, line, value = _followed(frames, given, data_inside)
    return Made(frames[at:], line, value)


def made_at(recording: Recording, stack: Stack, through: bool = True) -> Site | None:
    """The line that makes the tensor which a collective is given, or, without `through`, converts it last; None where
    no assignment does."""
    frames = frames_of(recording, stack)
    given = sent_by(frames[0]) if frames else None
    if given is None:
        return None
    at, line, made = _followed(frames, given, _inside_call if through else _nothing_inside)
    assigned = (node for node in _of(frames[at].function) if isinstance(node, (ast.Assign, ast.AnnAssign)))
    made_here = any(node.lineno == line for node in assigned) and isinstance(made, ast.Call)
    return at_line(recording, frames[at].site, line) if made_here else None


def sent_by(frame: Frame) -> ast.expr | None:
    """What a collective on a line sends: of those that are told where to put what comes, the second argument."""
    call = next(iter(_calls(frame)), None)
    if call is None:
        return None
    by_name = {one.arg: one.value for one in call.keywords}
    place = int(_last_name(call).startswith(_PUTS_FIRST))
    given = (by_name[name] for name in _SENT if name in by_name)
    return call.args[place] if place < len(call.args) else next(given, None)


def frames_of(recording: Recording, stack: Stack) -> list[Frame]:
    """The program's own frames of a stack, the innermost first."""
    sites = user_frames(stack)
    return [Frame(site, tree, _around(tree, site)) for site in sites for tree in [tree_of(recording, site)]]


def _followed(
    frames: list[Frame], value: ast.expr, inside: Callable[[ast.expr], ast.expr | None]
) -> tuple[int, int, ast.expr]:
    """The frame and the line in which a value is made, and by what; `inside`: the part of it that decides."""
    at, line = 0, frames[0].site.line
    for _ in range(_LONGEST):
        decides = inside(value)
        if decides is not None:
            value = decides
            continue
        if not isinstance(value, ast.Name):
            break
        bound = bound_in(frames[at], value.id, line)
        if bound is not None:
            line, value = bound
            continue
        passed = passed_to(frames, at, value.id)
        if passed is None:
            break
        at, value = at + 1, passed
        line = frames[at].site.line
    return at, line, value


def data_inside(value: ast.expr) -> ast.expr | None:
    """The part of an expression that decides which data it is; None for a name, and for what makes data."""
    if isinstance(value, ast.Subscript):
        by_number = isinstance(value.slice, (ast.Slice, ast.Constant, ast.Tuple))
        return value.value if by_number else value.slice
    if isinstance(value, (ast.Attribute, ast.Starred)):
        return value.value
    if isinstance(value, (ast.Tuple, ast.List)) and value.elts:
        return next((one for one in value.elts if not _is_filled(one)), value.elts[0])
    if isinstance(value, ast.Call) and _last_name(value) in _JOINS:
        return _first_argument(value)
    return _inside_call(value)


def _is_filled(value: ast.expr) -> bool:
    """Whether a value is one number everywhere, beside the data that it is joined to."""
    return isinstance(value, ast.Constant) or _last_name(value) in _FILLS


def _inside_call(value: ast.expr) -> ast.expr | None:
    if not isinstance(value, ast.Call):
        return None
    chosen = {one.arg: one.value for one in value.keywords if not isinstance(one.value, ast.Constant)}
    for name in _CHOOSES:
        if name in chosen:
            return chosen[name]
    if _last_name(value) in _THROUGH:
        return next((one for one in value.args if not _counts(one)), None) or _first_argument(value)
    if _last_name(value) in _CONVERTS and isinstance(value.func, ast.Attribute):
        return value.func.value
    return None


def _counts(value: ast.expr) -> bool:
    """Whether a value says how often something is done, beside the data that are taken each time."""
    return isinstance(value, ast.Constant) or _last_name(value) in _COUNTS


def _streamed(recording: Recording, made: Made) -> Site | None:
    """The line that makes the stream of a loader, of a class of the program's own, be it given by a caller."""
    if _last_name(made.value) != _LOADER or not isinstance(made.value, ast.Call):
        return None
    by_name = (one.value for one in made.value.keywords if one.arg == "dataset")
    given = next(by_name, made.value.args[0] if made.value.args else None)
    if not isinstance(given, ast.Name):
        return None
    caller = replace(made.frames[0], site=replace(made.frames[0].site, line=made.line))
    frames = [caller, *made.frames[1:]]
    at, line, value = _followed(frames, given, _nothing_inside)
    class_name = _last_name(value)
    is_one = bool(class_name) and class_name in _streams(recording)
    return at_line(recording, frames[at].site, line) if is_one else None


def _streams(recording: Recording) -> set[str]:
    """The names of the program's own classes of iterable datasets."""
    trees = (tree_of(recording, Site(file, 1, "")) for file in recording.sources())
    classes = (node for tree in trees for node in nodes_of(tree) if isinstance(node, ast.ClassDef))
    return {one.name for one in classes if any(ast.unparse(base).endswith(_STREAM) for base in one.bases)}


def _yielding(recording: Recording) -> set[str]:
    """The names of the program's functions that yield, and of its classes that are gone through so."""
    trees = (tree_of(recording, Site(file, 1, "")) for file in recording.sources())
    nodes = (node for tree in trees for node in nodes_of(tree))
    named = [one for one in nodes if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    functions = {one.name for one in named if isinstance(one, ast.FunctionDef) and any(map(_yields, _of(one)))}
    return functions | {one.name for one in named if isinstance(one, ast.ClassDef) and _is_gone_through(one)}


def _yields(node: ast.AST) -> bool:
    return isinstance(node, (ast.Yield, ast.YieldFrom))


def _is_gone_through(own: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.FunctionDef) and one.name == "__iter__" for one in own.body)


def unconverted(value: ast.expr) -> ast.expr:
    """A value without what converts it."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _CONVERTS:
        value = value.func.value
    return value


def bound_in(frame: Frame, name: str, line: int) -> tuple[int, ast.expr] | None:
    """The line that bound a name last above a line of a function, else in its module, and to what."""
    for function, end in ((frame.function, line), (frame.tree, 0)):
        found = [
            (bound, value)
            for node in _of(function)
            for bound, targets, value in _bindings(node)
            if any(isinstance(one, ast.Name) and one.id == name for each in targets for one in ast.walk(each))
        ]
        above = [one for one in found if not end or one[0] < end]
        if above:
            return max(above, key=lambda one: one[0])
        if name in parameters_of(function):
            return None
    return None


def stands_in(frame: Frame, line: int) -> bool:
    """Whether a line is one of a function."""
    first = getattr(frame.function, "lineno", 0)
    return first <= line <= (getattr(frame.function, "end_lineno", None) or 0)


def _nothing_inside(value: ast.expr) -> None:
    """What is made or converted by a call is followed no further."""


def _bindings(node: ast.AST) -> Iterator[tuple[int, list[ast.expr], ast.expr]]:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.lineno, [node.target], node.iter
    elif isinstance(node, ast.Assign):
        yield node.lineno, node.targets, node.value
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield node.lineno, [node.target], node.value


def passed_to(frames: list[Frame], at: int, name: str) -> ast.expr | None:
    """What the caller gives for a parameter."""
    names = parameters_of(frames[at].function)
    if name not in names or at + 1 == len(frames):
        return None
    called = getattr(frames[at].function, "name", None)
    made = _class_that_has(frames[at]) if called == "__init__" else None
    for call in _calls(frames[at + 1]):
        if called is not None and _last_name(call) not in (called, made):
            continue
        by_name = {one.arg: one.value for one in call.keywords}
        found = by_name.get(name) or _at_place(call, names.index(name) - (names[0] == "self"))
        if found is not None:
            return found
    return None


def _at_place(call: ast.Call, place: int) -> ast.expr | None:
    """What a call gives at a place: of arguments that are spread, what these are."""
    spread = [at for at, one in enumerate(call.args) if isinstance(one, ast.Starred)]
    if spread and 0 <= spread[0] <= place:
        one = call.args[spread[0]]
        return one.value if isinstance(one, ast.Starred) and one is call.args[-1] else None
    return call.args[place] if 0 <= place < len(call.args) else None


def _class_that_has(frame: Frame) -> str | None:
    """The name of the class among whose methods a function is, by which its __init__ is called."""
    classes = (node for node in nodes_of(frame.tree) if isinstance(node, ast.ClassDef))
    return next((one.name for one in classes if frame.function in one.body), None)


def _calls(frame: Frame) -> list[ast.Call]:
    """The calls on a frame's line, the innermost first: what a call is made of, it is given."""
    found = [
        node
        for node in _of(frame.function)
        if isinstance(node, ast.Call) and node.lineno <= frame.site.line <= (node.end_lineno or 0)
    ]
    return [one for one in reversed(found) if _last_name(one) not in _CONVERTS]


def _calls_a_value(frame: Frame, call: ast.Call) -> bool:
    """Whether what is called is held by a variable, as models are, and neither imported nor defined."""
    called: ast.expr = call.func
    while isinstance(called, (ast.Attribute, ast.Subscript)):
        called = called.value
    if not isinstance(called, ast.Name):
        return False
    return called.id in parameters_of(frame.function) or bound_in(frame, called.id, frame.site.line) is not None


def _seeded(frame: Frame, line: int) -> int | None:
    """The last line above that seeds random numbers, in a function, else in its file."""
    for place in (frame.function, frame.tree):
        lines = [one.lineno for one in ast.walk(place) if isinstance(one, ast.Call) and _last_name(one) in SEEDS]
        above = [one for one in lines if one < line]
        if above:
            return max(above)
    return None


def _around(tree: ast.Module, site: Site) -> Function:
    """The innermost function of a name around a line; the module where there is none."""
    found: Function = tree
    for node in nodes_of(tree):  # from outside in
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            named = getattr(node, "name", "<lambda>") == site.function.rpartition(".")[2]
            if named and node.lineno <= site.line <= (node.end_lineno or 0):
                found = node
    return found


def _of(function: Function) -> Iterator[ast.AST]:
    """What stands in a function and not in those inside of it, from outside in."""
    waiting: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else [*function.body]
    while waiting:
        yield from waiting
        inner = (node for node in waiting if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))
        waiting = list(chain.from_iterable(map(ast.iter_child_nodes, inner)))


def parameters_of(function: Function) -> list[str]:
    """The names of a function's parameters, but for those that take any number."""
    if isinstance(function, ast.Module):
        return []
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _first_argument(call: ast.Call) -> ast.expr | None:
    values = (*call.args, *(one.value for one in call.keywords))
    return next((one for one in values if not isinstance(one, ast.Constant)), None)


def _last_name(value: ast.expr) -> str:
    """`randn` of `torch.randn(3)`."""
    called = value.func if isinstance(value, ast.Call) else None
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
