"""The one condition by which a loss left out a term, of what a model gave as in the steps before.

What ran on the way to the backward call is held against a graph that had the term: its nodes of which the operators
did not run this time, and all that decides in the source whether a program comes to their lines.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.graph import Graph, Node
from gradscope.model.operation import Operation
from gradscope.model.site import Site, user_frames
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.skipped_trips import chooses, holds, inside_a_wrapper, is_shortened, leaves, own_nodes
from gradscope.ranks.source.syntax import Function, Loop, at_line
from gradscope.store.reader import Recording

Way = tuple[tuple[str, int], ...]  # the files and lines by which a program comes to an operator, from outside in


@dataclass(frozen=True, slots=True)
class _Ran:
    """What ran on the way to a backward call: how often each operator, and below each line which others."""

    operators: Counter[tuple[Way, str]]
    lines: dict[Way, set[tuple[str, int]]]

    def __contains__(self, way: Way) -> bool:
        return way[-1] in self.lines.get(way[:-1], ())


def left_term(recording: Recording, way: list[Operation], now: Graph, graph: Graph, missing: set[str]) -> Site | None:
    """That condition, where it alone left all of some leaves out; `graph` has them, `now` does not, and `way` is what
    ran before that. None where layers of theirs did not run, or another line may have left them out."""
    ran, leading = _ran(way), _leading(graph, missing)
    left = list(_left(graph, ran, leading))
    users = {edge.source for edge in graph.edges if graph.nodes[edge.target].leaf in missing}
    if not way or users & {node.id for node in left}:
        return None
    decided = {node.id: set(_conditions(recording, node, ran)) for node in left}
    found = {(site.file, site.line): site for sites in decided.values() for site in sites}
    without = {node for node, sites in decided.items() if sites}
    from_where = {*graph.roots, *(_kept(graph, now) & leading)}
    if len(found) != 1 or _reached(graph, from_where, without) & missing:
        return None
    return next(iter(found.values()))


def _ran(way: list[Operation]) -> _Ran:
    """What ran, by its lines; stacks are shared by the operators of a line."""
    ways = {stack: _way(stack) for stack in {one.stack for one in way}}
    lines: dict[Way, set[tuple[str, int]]] = defaultdict(set)
    for each in ways.values():
        for at, line in enumerate(each):
            lines[each[:at]].add(line)
    return _Ran(Counter((ways[one.stack], one.name) for one in way), lines)


def _way(stack: tuple[Site, ...]) -> Way:
    return tuple((site.file, site.line) for site in reversed(user_frames(stack)))


def _leading(graph: Graph, missing: set[str]) -> set[int]:
    """The nodes by which gradients come to some leaves."""
    sources: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    waiting = [node.id for node in graph.nodes if node.leaf in missing]
    found: set[int] = set()
    while waiting:
        for source in sources[waiting.pop()]:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def _keys(graph: Graph) -> dict[int, tuple[Way, str]]:
    """What tells nodes of one graph and those of another apart, but for nodes of leaves."""
    return {node.id: (_way(node.stack), node.op or "") for node in graph.nodes if node.stack and not node.accumulates}


def _kept(graph: Graph, now: Graph) -> set[int]:
    """The nodes of one graph that another has as well, as often: what they then led to, they lead to now, unless
    something else cut that off."""
    keys = _keys(graph)
    before, after = Counter(keys.values()), Counter(_keys(now).values())
    return {node for node, key in keys.items() if after[key] >= before[key]}


def _reached(graph: Graph, from_where: set[int], without: set[int]) -> set[str | None]:
    """The leaves that gradients come to from some nodes, without others."""
    targets: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        targets[edge.source].append(edge.target)
    waiting = list(from_where)
    found = set(without)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += targets[node]
    return {graph.nodes[node].leaf for node in found - without}


def _left(graph: Graph, ran: _Ran, leading: set[int]) -> Iterator[Node]:
    """The nodes of a graph of which the operator did not run this time, or not as often."""
    named = _keys(graph)
    often = Counter(named.values())
    for node in graph.nodes:
        if node.id in leading and node.id in named:
            key = named[node.id]
            by_line = key[0] not in ran
            if by_line or (node.op is not None and ran.operators[key] < often[key]):
                yield node


def _conditions(recording: Recording, node: Node, ran: _Ran) -> Iterator[Site]:
    """All by which a program may not have come to what made a node: where its way leaves the lines that ran, in the
    functions below that, and what chooses in the last line that did run."""
    if inside_a_wrapper(node.stack):
        return
    frames, way = frames_of(recording, node.stack)[::-1], _way(node.stack)
    parts = next((at for at in range(len(way)) if way[: at + 1] not in ran), len(way))
    for at, frame in enumerate(frames[max(0, parts - 1) :], max(0, parts - 1)):
        beside = {line for file, line in ran.lines.get(way[:at], ()) if file == frame.site.file}
        for line in _deciding(frame, None if at < parts else beside):
            yield at_line(recording, frame.site, line)


def _deciding(frame: Frame, beside: set[int] | None) -> Iterator[int]:
    """The lines of a function by which it did not come to its line, where `beside` ran; with None, the line did run,
    and only a part of it may have been left out."""
    line = frame.site.line
    for node in own_nodes(frame.function):
        if isinstance(node, ast.expr):
            decides = holds(node, line) and chooses(node) and not _is_plain(node)
        elif beside is None:
            decides = False
        elif isinstance(node, ast.If):
            decides = _left_by(node, frame.function, line, beside)
        else:
            decides = isinstance(node, Loop) and holds(node, line) and is_shortened(node)
            decides = decides and isinstance(node, Loop) and not any(holds(node, one, but_head=True) for one in beside)
        if decides and isinstance(node, ast.stmt | ast.expr):
            yield node.lineno


def _left_by(node: ast.If, function: ast.AST, line: int, beside: set[int]) -> bool:
    """Whether the arm of a condition that holds a line was not gone into, or another ended the function above it."""
    for arm in (node.body, node.orelse):
        if arm and arm[0].lineno <= line <= (arm[-1].end_lineno or 0):
            return not any(arm[0].lineno <= one <= (arm[-1].end_lineno or 0) for one in beside)
    end = node.end_lineno or 0
    above = isinstance(function, Function) and end < line and leaves(function, node, line)
    return above and not any(end < one for one in beside)


def _is_plain(node: ast.expr) -> bool:
    """Whether a choice is between values that are there, and runs nothing by itself: a weight, say."""
    arms = (node.body, node.orelse) if isinstance(node, ast.IfExp) else ()
    return bool(arms) and not any(isinstance(one, ast.Call | ast.BinOp) for arm in arms for one in ast.walk(arm))
