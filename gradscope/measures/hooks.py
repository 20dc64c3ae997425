"""The hooks of one backward call in firing order, among the nodes that they fired at; and those that did not fire."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.engine.order import steps, until_raised
from gradscope.measures.places import op, single
from gradscope.model.graph import Graph, Node
from gradscope.model.hook import Firing, Hook
from gradscope.model.table import Column, Row, Table, Unit

# What torch promises at one node: tensor hooks as they were registered, retain_grad, node pre-hooks, the node,
# post-hooks, of which a reducer's is one; a leaf's accumulator runs post-accumulate hooks inside the node (torch 2.13,
# verified).
PROMISE = {
    "tensor": 0,
    "multi_grad": 0,
    "module_backward_pre": 2,
    "retain_grad": 1,
    "node_pre": 2,
    "post_accumulate": 4,
    "module_backward": 5,
    "node_post": 5,
    "reducer": 5,
}
_NODE = 3
RAN = "node runs"
CAPTURED = "captured"  # for inputs=, instead of running the node
RETAIN = "retain_grad"
REDUCER = "reducer"
MULTI = "multi_grad"
BY_EFFECT = "seen by its effect"  # which is all that is seen of it, at this place


class NotFired(enum.Enum):
    """Why a hook did not fire."""

    OFF_THE_PATH = "its node did not run: no gradient was asked of it"
    CAPTURED = "its node's gradient was only captured for inputs=: hooks of the node itself do not run then"
    NOT_IN_THE_GRAPH = "what it hangs on is not in this graph"
    NO_EFFECT = "no collective ran at its leaves: under no_sync(), or --detail nodes, which sees none"
    STOPPED = "the backward raised before its turn"
    UNKNOWN = "its node ran: torch gave it no gradient, or it was removed on the way"


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the timeline: a node that ran or whose gradient was only captured, or a hook that fired at it."""

    node: Node | None
    firing: Firing | None = None
    by_rule: bool = False

    @property
    def rank(self) -> int:
        """Its place in the order that torch promises for what happens at a node."""
        return _NODE if self.firing is None else PROMISE.get(self.firing.hook.kind, _NODE)


def timeline(graph: Graph) -> Iterator[Event]:
    """Nodes and firings in the order in which they happened."""
    fired: dict[int | None, list[Firing]] = defaultdict(list)
    for firing in graph.firings:
        fired[firing.node].append(firing)
    for node in _taken(graph):
        yield from _at(node, fired.pop(node.id, []))
    for number, rest in fired.items():  # outside any node, or at one that nobody expected
        where = None if number is None else graph.nodes[number]
        yield from (Event(where, firing) for firing in rest)


def _taken(graph: Graph) -> Iterator[Node]:
    """The nodes that ran, and in their places those whose gradient the engine only captured."""
    captured: dict[int, list[Node]] = defaultdict(list)  # by how many nodes had run
    count = 0
    for step in until_raised(graph, steps(graph)):
        if step.runs:
            count += 1
        else:
            captured[count].append(graph.nodes[step.node])
    ran = sorted((node for node in graph.nodes if node.order is not None), key=lambda node: node.order or 0)
    yield from captured[0]
    for place, node in enumerate(ran, 1):
        yield node
        yield from captured[place]


def _at(node: Node, fired: list[Firing]) -> Iterator[Event]:
    """The node among its firings; retain_grad is torch's own, and stands where torch promises it."""
    before = [firing for firing in fired if PROMISE.get(firing.hook.kind, _NODE) < _NODE]
    kept = [Event(node, Firing(hook, node.id), by_rule=True) for hook in node.hooks if hook.kind == RETAIN]
    early = [firing for firing in before if PROMISE[firing.hook.kind] < PROMISE[RETAIN]]
    yield from (Event(node, firing) for firing in early)
    yield from kept
    yield from (Event(node, firing) for firing in before if firing not in early)
    yield Event(node)
    yield from (Event(node, firing) for firing in fired if firing not in before)


def silent(graph: Graph, registered: Iterable[Hook]) -> Iterator[tuple[Hook, Node | None, NotFired]]:
    """The hooks that did not fire in this backward, and why. What a loop registers anew for every step is here only
    when this step's did not fire.
    """
    fired = {firing.hook.number for firing in graph.firings}
    waiting = [hook for hook in registered if hook.number not in fired]
    if not waiting:  # the backward need not be walked
        return
    told = {_origin(firing.hook) for firing in graph.firings if firing.hook.kind == MULTI}  # one hangs on many tensors
    here = {_origin(hook) for node in graph.nodes for hook in node.hooks}
    path = list(steps(graph))
    captured = {step.node for step in until_raised(graph, path) if not step.runs}
    missed = {step.node for step in path} - captured if graph.backward.exception is not None else set()
    places = {hook.number: node for node in graph.nodes for hook in node.hooks}
    for hook in waiting:
        node = places.get(hook.number)
        if hook.kind == RETAIN and node is not None and _is_taken(node, captured):
            continue
        if (node is None and _origin(hook) in here) or _origin(hook) in told:
            continue
        if hook.kind == MULTI:
            told.add(_origin(hook))
        stopped = node is not None and node.id in missed and (node.order is None or node.raised)
        yield hook, node, NotFired.STOPPED if stopped else _why(hook, node, captured)


def _origin(hook: Hook) -> tuple[object, ...]:
    return hook.kind, hook.name, hook.stack


def _is_taken(node: Node, captured: set[int]) -> bool:
    return node.order is not None or node.id in captured


def _why(hook: Hook, node: Node | None, captured: set[int]) -> NotFired:
    if node is None:
        return NotFired.NOT_IN_THE_GRAPH
    if hook.kind == REDUCER and node.order is not None:
        return NotFired.NO_EFFECT
    if node.id in captured:
        return NotFired.CAPTURED
    return NotFired.OFF_THE_PATH if node.order is None else NotFired.UNKNOWN


@dataclass(frozen=True, slots=True)
class Selection:
    """What to show: hooks of some kinds, of one node (an id or a name), of one parameter. Nothing named means all."""

    kinds: tuple[str, ...] = ()
    node: str | None = None
    tensor: str | None = None

    def wants(self, hook: Hook, node: Node | None) -> bool:
        """Whether a hook is shown."""
        return (not self.kinds or hook.kind in self.kinds) and self._here(node) and self._of(hook, node)

    def _here(self, node: Node | None) -> bool:
        return self.node is None or (node is not None and self.node in (str(node.id), op(node), node.name))

    def _of(self, hook: Hook, node: Node | None) -> bool:
        return self.tensor is None or self.tensor in (hook.on, node.leaf if node is not None else None)


ALL = Selection()


def fired_table(graph: Graph, selection: Selection = ALL, every_node: bool = False) -> Table:
    """The timeline as a table: the hooks that are wanted, and the nodes that they fired at (or every node)."""
    columns = (
        Column("position", Unit.COUNT, "in the order in which it happened"),
        Column("event", help="the kind of hook, or that the node ran"),
        Column("node", help="at which node"),
        Column("hook", help="the function"),
        Column("registered", Unit.PLACE, "the line that registered it"),
        Column("effect", help="what it did to the gradient: another tensor may hold the same values"),
        Column("before", Unit.NUMBER, "norm of the gradient before it (--detail full)"),
        Column("after", Unit.NUMBER, "norm of the gradient after it (--detail full)"),
        Column("time", Unit.SECONDS, "what it took (--detail full)"),
        Column("promised", help="whether it stands where torch promises it among the hooks of its node"),
    )
    events = list(enumerate(_checked(timeline(graph))))
    shown = {id(event) for _, (event, _) in events if event.firing and selection.wants(event.firing.hook, event.node)}
    hooked = {event.node.id for _, (event, _) in events if id(event) in shown and event.node is not None}
    rows = [
        _row(position, event, right)
        for position, (event, right) in events
        if id(event) in shown or (event.firing is None and event.node and (every_node or event.node.id in hooked))
    ]
    return Table("hooks", columns, tuple(rows))


def _checked(events: Iterable[Event]) -> Iterator[tuple[Event, bool]]:
    """Each event, and whether nothing that torch promises later has happened at its node before."""
    highest: dict[int | None, int] = {}
    for event in events:
        key = None if event.node is None else event.node.id
        right = event.rank >= highest.get(key, 0)
        highest[key] = max(highest.get(key, 0), event.rank)
        yield event, right


def _row(position: int, event: Event, right: bool) -> Row:
    node = None if event.node is None else single(event.node)
    if event.firing is None:
        what = RAN if event.node is not None and event.node.order is not None else CAPTURED
        return position, what, node, None, None, None, None, None, None, "yes"
    hook, firing = event.firing.hook, event.firing
    effect: str | None = None if event.by_rule else firing.words
    promised = "by rule" if event.by_rule else "yes" if right else "no"
    if hook.kind == REDUCER:  # what comes out of the collective is in .grad when the backward returns
        effect, promised = None, BY_EFFECT
    return (
        position,
        hook.kind,
        node,
        hook.name,
        _line(hook),
        effect,
        firing.before,
        firing.after,
        firing.seconds,
        promised,
    )


def silent_table(graph: Graph, registered: Iterable[Hook], selection: Selection = ALL) -> Table:
    """The hooks that did not fire, and why, as a table."""
    columns = (
        Column("event", help="the kind of hook"),
        Column("node", help="the node that it hangs on"),
        Column("hook", help="the function"),
        Column("registered", Unit.PLACE, "the line that registered it"),
        Column("why", help="why it did not fire"),
    )
    rows = [
        (
            hook.kind,
            _where(hook, node),
            hook.name,
            _line(hook),
            why.value,
        )
        for hook, node, why in silent(graph, registered)
        if selection.wants(hook, node)
    ]
    return Table("silent", columns, tuple(rows))


def _where(hook: Hook, node: Node | None) -> str:
    return hook.on if node is None or hook.kind == REDUCER else single(node)


def _line(hook: Hook) -> str | None:
    site = hook.site
    return None if site is None else str(site)
