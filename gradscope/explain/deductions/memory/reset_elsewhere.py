"""The call that sets a module's state anew once for all rounds of a loop, where each round should begin without one.

The surprise: the module is right, and so is its reset(); it is called one loop too far out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.memory.set_anew import attributes_read, resets, resetting, stores
from gradscope.explain.deductions.memory.shared_subgraph import SharedSubgraph
from gradscope.explain.deductions.memory.shuffled_rounds import is_shuffled
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.graph import Backward, Node
from gradscope.model.site import Site, user_frames

_Loop = ast.For | ast.While


@dataclass(frozen=True, slots=True)
class Reset:
    """A line that sets a state anew, outside of the loop whose rounds share it, and the attribute that holds it."""

    site: Site
    attribute: str


def reset_elsewhere(case: Case, call: Backward, found: SharedSubgraph) -> Reset | None:
    """Where a state is set anew only outside of the loop around a backward, though each round is of other samples.

    None where a round uses the state once: it is for the next rounds then, as an average over batches is.
    """
    if found.reader is None or not _is_used_again(case, call, found.reader):
        return None
    frames, reading = user_frames(call.stack), user_frames(found.reader.stack)
    depth = next((at for at, site in enumerate(frames) if syntax(case).loop(site) is not None), None)
    loop = None if depth is None else syntax(case).loop(frames[depth])
    if depth is None or loop is None:
        return None
    outward = frames[depth:]
    at = next((at for at, site in enumerate(reading) if site.is_in_function_of(outward[0]) and _is_in(loop, site)), 0)
    inside = reading[:at]
    state = next((one for site in inside for one in [_state(case, site)] if one), None)
    if state is None or not is_shuffled(case, outward, loop, reading[at]):
        return None
    names = resetting(case, state)
    if _is_reset_inside(case, loop, inside, names, state):
        return None
    lines = (reading[at], *outward[1:])
    site = next((one for one in _outside(case, lines, loop, names, state)), None)
    return None if site is None else Reset(site, state)


def _is_used_again(case: Case, call: Backward, reader: Node) -> bool:
    """Whether the line that reads the state reads it again in this round, from what it made of it: a step in time."""
    graph = case.graph(call.number)
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    above, seen = [reader.id], {reader.id}
    for one in above:  # grows while it is walked
        new = [source for source in sources.get(one, ()) if source not in seen]
        seen.update(new)
        above += new
    return any(_is_alike(graph.nodes[one], reader) for one in above[1:])


def _is_alike(one: Node, other: Node) -> bool:
    """Whether two nodes are of one operator, of one line of one module."""
    paths = [node.module.path if node.module is not None else "" for node in (one, other)]
    return one.name == other.name and paths[0] == paths[1] and user_frames(one.stack) == user_frames(other.stack)


def _is_in(loop: _Loop, site: Site) -> bool:
    return loop.lineno < site.line <= (loop.end_lineno or 0)


def _state(case: Case, site: Site) -> str | None:
    """The only attribute that a line reads, by itself or by a name that its function gave it, and that the program
    computes and keeps elsewhere than where it begins."""
    line, function = syntax(case).statement(site), syntax(case).function(site)
    if line is None or function is None:
        return None
    computed = {
        store.attribute
        for _, one in syntax(case).functions
        for store in stores(one)
        if not store.is_anew and one.name != "__init__"
    }
    read = attributes_read(line) & computed
    named = (one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno < site.line)
    given = [one for one in named if any(names_in(target) & names_in(line) for target in one.targets)]
    read = read or {name for one in given for name in attributes_read(one.value) & computed}
    return read.pop() if len(read) == 1 else None


def _is_reset_inside(case: Case, loop: _Loop, inside: tuple[Site, ...], names: frozenset[str], state: str) -> bool:
    """Whether a round sets the state anew itself, or calls what does, other than where there is none yet."""
    begun = [one for site in inside for one in [syntax(case).function(site)] if one is not None]
    waiting: list[ast.AST] = [*loop.body, *begun]
    seen = {id(one) for one in waiting}
    known = [one for _, one in syntax(case).functions]
    for scope in waiting:  # grows while it is walked
        anew = {id(one.node) for one in stores(scope) if one.attribute == state and one.is_anew}
        called = set[str]()
        for node in _unless_it_is_missing(scope, state):
            if id(node) in anew or (isinstance(node, ast.Call) and resets(node, names)):
                return True
            called |= {called_name(node)} if isinstance(node, ast.Call) else set()
        new = [one for one in known if one.name in called and id(one) not in seen]
        seen |= {id(one) for one in new}
        waiting += new
    return False


def _unless_it_is_missing(scope: ast.AST, state: str) -> Iterator[ast.AST]:
    """The nodes of a piece of code, without the blocks that ask for the state first: `if self.state is None: ...`."""
    waiting = [scope]
    for node in waiting:  # grows while it is walked
        yield node
        asks = isinstance(node, ast.If) and state in attributes_read(node.test)
        waiting += [] if asks else ast.iter_child_nodes(node)


def _outside(case: Case, lines: tuple[Site, ...], loop: _Loop, names: frozenset[str], state: str) -> Iterator[Site]:
    """The lines around the loop that set the state anew: in its function first, and the last before it."""
    for line in lines:
        scope, statement = syntax(case).function(line), syntax(case).statement(line)
        if scope is None or statement is None:
            continue
        places = {place for one in ast.walk(statement) for place in _place(one)} - {"torch", "nn", "F"}
        within = loop if line is lines[0] else statement
        anew = {id(one.node): one.node for one in stores(scope) if one.attribute == state and one.is_anew}
        found = []
        for node in _own(scope, within):
            if isinstance(node, ast.Call) and resets(node, names):
                owners = [node.func.value] if isinstance(node.func, ast.Attribute) else node.args
            elif id(node) in anew and isinstance(node, ast.Assign):
                owners = [one.value for one in node.targets if isinstance(one, ast.Attribute)]
            else:
                continue
            if any(_belongs(scope, owner, places) for owner in owners):
                found.append(node.lineno)
        before = [one for one in found if one < within.lineno]
        for number in (*sorted(before, reverse=True), *sorted({*found} - {*before})):
            yield syntax(case).site(line.file, number, line.function)


def _own(scope: ast.AST, loop: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of a loop, and of functions and classes in it."""
    waiting = list(ast.iter_child_nodes(scope))
    for node in waiting:  # grows while it is walked
        if node is not loop and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            waiting += ast.iter_child_nodes(node)


def _place(node: ast.AST) -> Iterator[str]:
    """A name, or an attribute of a name, as it is written."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield ast.unparse(node)


def _belongs(scope: ast.AST, owner: ast.expr, places: set[str]) -> bool:
    """Whether what is reset is what a line uses, or a part of it; of `for layer in model.layers`, the model's."""
    loops = (one for one in ast.walk(scope) if isinstance(one, ast.For) and isinstance(owner, ast.Name))
    through = [one.iter for one in loops if names_in(one.target) & names_in(owner)]
    texts = [ast.unparse(one) for one in (owner, *through)]
    parts = tuple(f"{one}{mark}" for one in places - {"self"} for mark in ".[")
    return any(text in places or text.startswith(parts) for text in texts)
