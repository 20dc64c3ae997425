"""Whether the rounds of a loop take samples in an order drawn by chance: then no round goes on with the one before.

Followed are the order and the loader, and never the data: a batch of shuffled sequences may be cut into windows, whose
state goes from one to the next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.rounds import is_carried_by
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site

_ORDERS = ("randperm", "permutation", "permuted", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")
_SAME_ORDER = ("enumerate", "zip", "tqdm", "trange", "iter", "list", "islice", "tolist", "numpy", "split", "chunk")
_PLACES = ("view", "reshape", "to", "long", "cuda", "array_split", "BatchSampler", "prepare")
_DRAWN_PLACES = (*_ORDERS, "randint", "choice", "multinomial")


@dataclass(frozen=True, slots=True)
class _Part:
    """An expression, the code that its names belong to, and how many calls further out this code is."""

    node: ast.AST
    scope: ast.AST
    depth: int


def is_shuffled(case: Case, frames: tuple[Site, ...], loop: ast.For | ast.While, reading: Site) -> bool:
    """Whether a loop, of the function of the first of some frames, goes through samples in an order of chance, or draws
    those of each round, for what its line `reading` hands on."""
    scope = syntax(case).function(frames[0])
    if scope is None:
        return False
    return _goes_by_chance(case, frames, _Part(loop, scope, 0)) or _draws_its_own(case, loop, reading)


def _goes_by_chance(case: Case, frames: tuple[Site, ...], loop: _Part) -> bool:
    """Follow what a loop goes through, and the list of places of which each round takes its part."""
    waiting = list(_begins(loop))
    seen = {id(one.node) for one in waiting}
    for part in waiting:  # grows while it is walked
        if isinstance(part.node, ast.Call) and _orders_by_chance(part.node):
            return True
        if isinstance(part.node, ast.Name) and _is_shuffled_in_place(part.scope, part.node.id):
            return True
        new = [one for one in _sources(case, frames, part) if id(one.node) not in seen]
        seen |= {id(one.node) for one in new}
        waiting += new
    return False


def _begins(loop: _Part) -> Iterator[_Part]:
    """What a loop goes through; of `for at in range(...)`, the names of which it takes `order[at : at + 16]`."""
    if isinstance(loop.node, ast.For):
        yield _Part(loop.node.iter, loop.scope, loop.depth)
        counters = names_in(loop.node.target)
        for one in ast.walk(loop.node):
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and names_in(one.slice) & counters:
                yield _Part(one.value, loop.scope, loop.depth)


def _orders_by_chance(call: ast.Call) -> bool:
    """`torch.randperm(n)`, `DataLoader(data, shuffle=True)`, `random.sample(range(n), n)`."""
    given = next((one.value for one in call.keywords if one.arg == "shuffle"), None)
    is_asked = given is not None and not (isinstance(given, ast.Constant) and not given.value)
    return is_asked or called_name(call) in _ORDERS or ast.unparse(call.func) == "random.sample"


def _is_shuffled_in_place(scope: ast.AST, name: str) -> bool:
    """`random.shuffle(order)`"""
    calls = (one for one in ast.walk(scope) if isinstance(one, ast.Call) and called_name(one) == "shuffle")
    return any(isinstance(given, ast.Name) and given.id == name for call in calls for given in call.args)


def _sources(case: Case, frames: tuple[Site, ...], part: _Part) -> Iterator[_Part]:
    """Where an order comes from: what a name was set to or given, what a call was given, what a function returns."""
    node = part.node
    if isinstance(node, ast.Name):
        for one in ast.walk(part.scope):
            if isinstance(one, ast.Assign) and any(isinstance(at, ast.Name) and at.id == node.id for at in one.targets):
                yield _Part(one.value, part.scope, part.depth)
        given = _given(case, frames, part, node.id)
        if given is not None:
            yield given
    elif isinstance(node, ast.Attribute):
        yield from _kept(case, node.attr, part.depth)
    elif isinstance(node, ast.Subscript):
        yield _Part(node.value, part.scope, part.depth)
    elif isinstance(node, ast.Call) and called_name(node) in (*_SAME_ORDER, *_PLACES):
        before = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        sampler = [one.value for one in node.keywords]
        yield from (_Part(one, part.scope, part.depth) for one in (*before, *node.args, *sampler))
    elif isinstance(node, ast.Call):
        samplers = [one.value for one in node.keywords if one.arg in ("sampler", "batch_sampler")]
        yield from (_Part(one, part.scope, part.depth) for one in samplers)
        yield from _handed_back(case, called_name(node), len(frames))


def _given(case: Case, frames: tuple[Site, ...], part: _Part, name: str) -> _Part | None:
    """What the caller of a frame's function gave it by a name."""
    scope, outer = part.scope, part.depth + 1
    if not isinstance(scope, ast.FunctionDef) or outer >= len(frames):
        return None
    names = [one.arg for one in scope.args.args]
    line, caller = syntax(case).statement(frames[outer]), syntax(case).function(frames[outer])
    if name not in names or line is None or caller is None:
        return None
    for call in (one for one in ast.walk(line) if isinstance(one, ast.Call) and called_name(one) == scope.name):
        place = names.index(name) - (names[0] == "self")
        by_name = [one.value for one in call.keywords if one.arg == name]
        given = [*call.args[place : place + 1], *by_name]
        if given:
            return _Part(given[0], caller, outer)
    return None


def _kept(case: Case, attribute: str, depth: int) -> Iterator[_Part]:
    """What the program sets an attribute to."""
    for _, scope in syntax(case).functions:
        for one in (one for one in ast.walk(scope) if isinstance(one, ast.Assign)):
            if any(isinstance(at, ast.Attribute) and at.attr == attribute for at in one.targets):
                yield _Part(one.value, scope, depth)


def _handed_back(case: Case, name: str, outside: int) -> Iterator[_Part]:
    """What a function of the program returns, or goes through as it yields."""
    for scope in (one for _, one in syntax(case).functions if one.name == name):
        for one in ast.walk(scope):
            if isinstance(one, ast.Return) and one.value is not None:
                yield _Part(one.value, scope, outside)
            elif isinstance(one, ast.For) and any(isinstance(inner, ast.Yield) for inner in ast.walk(one)):
                yield from _begins(_Part(one, scope, outside))


def _draws_its_own(case: Case, loop: ast.For | ast.While, reading: Site) -> bool:
    """Whether a round draws places by chance, and hands on what it takes at these, and nothing of its counter or of the
    round before."""
    line = syntax(case).statement(reading)
    assigns = [one for one in ast.walk(loop) if isinstance(one, ast.Assign)]
    waiting, places = sorted(names_in(line)), set[str]()
    for name in waiting:  # grows while it is walked
        for one in assigns:
            if name in {target for at in one.targets for target in names_in(at)}:
                drawn = any(isinstance(at, ast.Call) and called_name(at) in _DRAWN_PLACES for at in ast.walk(one.value))
                places |= {name} if drawn else set()
                waiting += sorted(names_in(one.value) - {*waiting})
    set_here = {target for one in assigns for at in one.targets for target in names_in(at)}
    counters = names_in(loop.target) if isinstance(loop, ast.For) else set()
    goes_on = any(name in counters or (name in set_here and is_carried_by(loop, name)) for name in waiting)
    taken = (one for one in ast.walk(loop) if isinstance(one, ast.Subscript))
    return bool(places) and not goes_on and any(places & names_in(one.slice) for one in taken)
