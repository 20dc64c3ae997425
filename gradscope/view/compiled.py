"""What to show of compiled autograd: captures and why, one captured graph beside eager order, sizes that vary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gradscope.model.compiled import Captured, CompiledKind, CompiledRun, CompiledStep
from gradscope.model.graph import Graph, Node
from gradscope.model.table import Column, Table, Unit
from gradscope.view.style import PLAIN, Style
from gradscope.view.words import amount, leaf_words, short_name

_NEW = re.compile(
    r"new autograd node: (?P<node>.+?) \(NodeCall (?P<place>\d+)\).*previous key sizes=\[(?P<keys>[^\]]*)\]"
)
_SHAPES = re.compile(r"due to (?P<count>\d+) changed tensor shapes")


@dataclass(frozen=True, slots=True)
class CompiledScene:
    """Captures and runs of a recording; `graphs` are the recorded graphs of the captured backwards, ordered."""

    origin: str
    torch: str
    captured: tuple[Captured, ...]
    runs: tuple[CompiledRun, ...]
    graphs: Mapping[int, Graph] = field(default_factory=dict)
    shown: int = 0
    folder: str = ""
    width: int = 120
    color: bool = False
    style: Style = PLAIN

    @property
    def chosen(self) -> Captured:
        """The capture whose graph is shown."""
        return next(one for one in self.captured if one.number == self.shown)


def tables(scene: CompiledScene) -> list[Table]:
    """The captures, then one captured graph, then what varies in it."""
    found = [captures(scene), steps(scene, scene.chosen)]
    varying = sizes(scene, scene.chosen)
    return [*found, varying] if varying.rows else found


def captures(scene: CompiledScene) -> Table:
    """One row for each capture: why it was needed, and how often it was run again."""
    columns = (
        Column("capture", Unit.COUNT),
        Column("why", help="why no graph captured before fitted"),
        Column("line", Unit.PLACE, "the line that made the difference, else the one that called backward"),
        Column("nodes", Unit.COUNT),
        Column("hooks", Unit.COUNT),
        Column("hits", Unit.COUNT, "later backward calls that found it in the cache"),
        Column("sizes", Unit.COUNT, "sizes that are its inputs and not part of it"),
        Column("varied", Unit.COUNT, "of these, those that had different values"),
    )
    rows = []
    for one in scene.captured:
        kinds = [step.kind for step in one.steps]
        hits = sum(run.hit for run in scene.runs if run.captured == one.number)
        counts = (kinds.count(CompiledKind.NODE), kinds.count(CompiledKind.HOOK), hits)
        varied = len(varying_sizes(scene, one))
        used = sum(size.used for size in one.sizes)
        rows.append((one.number, why(scene, one), line_of(scene, one), *counts, used, varied))
    hits = sum(run.hit for run in scene.runs)
    calls = f"{amount(len(scene.runs), 'backward call')} under compiled autograd"
    note = f"{calls}: {len(scene.runs) - hits:,} captured, {hits:,} found in the cache"
    return Table("captures", columns, tuple(rows), (note,))


def steps(scene: CompiledScene, one: Captured) -> Table:
    """The graph of a capture in the order of its calls; `eager` is the place in eager autograd's order."""
    columns = (
        Column("#", Unit.COUNT),
        Column("call"),
        Column("node"),
        Column("eager", Unit.COUNT, "the node's place in eager order"),
        Column("line", Unit.PLACE, "the forward line of the node, or the hook's function"),
        Column("remark"),
    )
    live = matched(scene, one)
    rows = [_row(step, live.get(step.node_call or 0)) for step in one.steps]
    inlined = sum(step.kind is CompiledKind.INLINED for step in one.steps)
    notes = [f"{amount(inlined, 'operator')} of compiled backwards inlined"] if inlined else []
    if one.backward not in scene.graphs:
        notes.append("the recording has no graph of this backward, so nodes have no line and no eager order")
    return Table(f"graph of capture {one.number}", columns, tuple(rows), tuple(notes))


def sizes(scene: CompiledScene, one: Captured) -> Table:
    """The sizes of a capture that had different values."""
    columns = (Column("size", Unit.COUNT), Column("values", help="in the order of the runs, each once"))
    rows = [(place, ", ".join(map(str, values))) for place, values in varying_sizes(scene, one).items()]
    return Table(f"sizes of capture {one.number} that became dynamic", columns, tuple(rows))


def varying_sizes(scene: CompiledScene, one: Captured) -> dict[int, list[int]]:
    """By place among a capture's used sizes: the different values, where there are several."""
    runs = [run.sizes for run in scene.runs if run.captured == one.number]
    values = {place: list(dict.fromkeys(column)) for place, column in enumerate(zip(*runs, strict=False))}
    return {place: found for place, found in values.items() if len(found) > 1}


def why(scene: CompiledScene, one: Captured) -> str:
    """Torch's reason in plain words."""
    new, shapes = _NEW.search(one.reason), _SHAPES.search(one.reason)
    if shapes is not None:
        return f"{amount(int(shapes['count']), 'size')} had another value than before, and became dynamic"
    if new is None:
        return one.reason or "torch gives no reason"
    name = new["node"].rpartition("::")[2]
    if new["place"] == "0" and not new["keys"]:
        return "the first backward"
    if not new["keys"]:
        return f"a new node: {name} stands where none was captured before"
    return f"a changed key: {name} was captured with other properties (.grad there or not, hooks, dtypes, flags)"


def line_of(scene: CompiledScene, one: Captured) -> str | None:
    """The forward line of the node that the reason names, else the line that called backward."""
    new = _NEW.search(one.reason)
    node = matched(scene, one).get(int(new["place"])) if new else None
    site = node.site if node is not None and node.site is not None else one.site
    return None if site is None else str(site)


def matched(scene: CompiledScene, one: Captured) -> dict[int, Node]:
    """The recorded node of each call of a node. Torch numbers the calls itself: nodes are told by the order of their
    names, AccumulateGrad by what its gradient comes from.
    """
    graph = None if one.backward is None else scene.graphs.get(one.backward)
    if graph is None:
        return {}
    plain = sorted((node for node in graph.nodes if node.order is not None and not node.accumulates), key=_order)
    calls = {step.node_call: step.node for step in one.steps if step.node_call and step.node != "AccumulateGrad"}
    if [short_name(node) for node in plain] != [calls[call] for call in sorted(calls)]:
        return {}
    found = dict(zip(sorted(calls), plain, strict=True))
    for step in one.steps:
        if step.kind is CompiledKind.ACCUMULATE and step.node_call is not None:
            leaf = _fed_by(graph, _sources(one, step), found)
            if leaf is not None:
                found[step.node_call] = leaf
    return found


def _fed_by(graph: Graph, calls: set[int], found: dict[int, Node]) -> Node | None:
    """The first AccumulateGrad not yet found that gets a gradient from one of these calls."""
    sources = {found[call].id for call in calls if call in found}
    taken = {node.id for node in found.values()}
    targets = (edge.target for edge in sorted(graph.edges, key=lambda edge: edge.output) if edge.source in sources)
    nodes = (graph.nodes[target] for target in targets)
    return next((node for node in nodes if node.accumulates and node.id not in taken), None)


def _sources(one: Captured, step: CompiledStep) -> set[int]:
    """The calls of nodes that a step's values come from, through hooks and sums."""
    found: set[int] = set()
    waiting = list(step.inputs)
    while waiting:
        before = one.steps[waiting.pop()]
        if before.kind is CompiledKind.NODE and before.node_call is not None:
            found.add(before.node_call)
        else:
            waiting.extend(before.inputs)
    return found


def _order(node: Node) -> int:
    return node.order or 0


def _row(step: CompiledStep, node: Node | None) -> tuple[int, str, str | None, int | None, str | None, str | None]:
    hook = step.kind is CompiledKind.HOOK
    site = step.stack[0] if hook and step.stack else None if node is None else node.site
    call = f"{step.hook or 'hook'} {step.label}".strip() if hook else step.op
    remark = leaf_words(node.leaf) if node is not None and node.leaf is not None else None
    if step.kind is CompiledKind.INLINED:
        remark = "inlined from a compiled backward"
    elif step.kind is CompiledKind.OTHER and step.op == "add" and len(step.inputs) > 1:
        remark = "adds gradients"
    eager = None if node is None or hook else node.order
    return step.position, call, step.node or None, eager, None if site is None else str(site), remark
