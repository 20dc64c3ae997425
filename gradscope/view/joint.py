"""What to show of joint graphs: what is saved by each partition, what the compiler did, the nodes, and a drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradscope.errors import UsageError
from gradscope.model.joint import EagerTensor, Fact, Half, JointNode, Partition, Region
from gradscope.model.table import Column, Table, Unit
from gradscope.view.style import PLAIN, Style
from gradscope.view.words import amount, size

SAVED, AGAIN, INPUT = "saved", "computed again", "saved, an input's memory"
NOWHERE = "(inputs)"


@dataclass(frozen=True, slots=True)
class JointScene:
    """Regions and where they come from: `origin` is a recording or the name of what was compiled."""

    origin: str
    torch: str
    regions: tuple[Region, ...]
    breaks: tuple[Fact, ...] = ()
    folder: str = ""
    eager: tuple[EagerTensor, ...] | None = None
    partition: str | None = None
    nodes: bool = True
    width: int = 120
    color: bool = False
    style: Style = PLAIN

    def only(self, number: int | None) -> JointScene:
        """With one region, or all for None. Raises UsageError when there is none of that number."""
        if number is None:
            return self
        found = tuple(region for region in self.regions if region.number == number)
        if not found:
            raise UsageError(f"there is no region {number}", f"there are 0 to {len(self.regions) - 1}")
        return replace(self, regions=found)

    def drawn(self, name: str | None) -> JointScene:
        """With a partition to draw. Raises UsageError when a region has none of that name."""
        for region in self.regions:
            if name is not None and region.partition(name) is None:
                known = ", ".join(cut.name for cut in region.partitions)
                raise UsageError(f"there is no partition {name!r} of region {region.number}", f"there are {known}")
        return replace(self, partition=name)

    def sized(self, width: int, color: bool, nodes: bool) -> JointScene:
        """For a page of this width."""
        return replace(self, width=width, color=color, nodes=nodes)

    def chosen(self, region: Region) -> Partition:
        """The partition of a region to draw: the one named, else the one in use, else the last."""
        if self.partition is not None:
            return region.partition(self.partition) or region.partitions[-1]
        return next((cut for cut in region.partitions if cut.used), region.partitions[-1])


def tables(scene: JointScene) -> list[Table]:
    """All that is said of the regions: first what is saved."""
    found = []
    for region in scene.regions:
        found.append(saved(region))
        if region.facts:
            found.append(told(f"what the compiler did in region {region.number}", region.facts))
    if scene.breaks:
        found.append(told("graph breaks", scene.breaks))
    if scene.eager is not None:
        found.append(beside_eager(scene.regions, scene.eager))
    if scene.nodes:
        found.extend(nodes(region) for region in scene.regions)
    return found


def heading(region: Region) -> str:
    """`region 0, forward: 12 nodes forward, 31 backward`."""
    counts = [sum(1 for node in region.nodes if node.phase is phase and not node.is_input) for phase in Half]
    return f"region {region.number}, {region.name}: {amount(counts[0], 'node')} forward, {counts[1]:,} backward"


def saved(region: Region) -> Table:
    """What each partition keeps for the backward, or computes again; a value that none of them saves is left out."""
    columns = (
        Column("value"),
        Column("type"),
        Column("bytes", Unit.BYTES, "of its storage; none for an input's, which lives on anyway"),
        Column("made", Unit.PLACE),
        *(Column(f"{cut.name} (in use)" if cut.used else cut.name) for cut in region.partitions),
    )
    kept = sorted({number for cut in region.partitions for number in cut.saved})
    rows = []
    for number in kept:
        node = region.nodes[number]
        held = region.is_held(number)
        where = None if node.site is None else str(node.site)
        verdicts = tuple(_verdict(region, cut, number, held) for cut in region.partitions)
        rows.append((titled(node), kind(node), None if held or node.type is None else node.bytes, where, *verdicts))
    notes = [_balance(region, cut) for cut in region.partitions]
    return Table(f"{heading(region)}: saved for the backward", columns, tuple(rows), tuple(notes))


def told(name: str, facts: Iterable[Fact]) -> Table:
    """Facts, a row each."""
    columns = (Column("what"), Column("in words"), Column("line", Unit.PLACE))
    rows = [(fact.kind, fact.text, None if fact.site is None else str(fact.site)) for fact in facts]
    return Table(name, columns, tuple(rows))


def nodes(region: Region) -> Table:
    """Every node, forward ones first."""
    columns = (Column("node"), Column("operator"), Column("type"), Column("line", Unit.PLACE), Column("remark"))
    ordered = sorted(region.nodes, key=lambda node: node.phase is Half.BACKWARD)
    rows = [
        (node.name, node.op, kind(node), None if node.site is None else str(node.site), remark(region, node))
        for node in ordered
    ]
    return Table(f"nodes of region {region.number}", columns, tuple(rows))


def beside_eager(regions: tuple[Region, ...], eager: tuple[EagerTensor, ...]) -> Table:
    """Bytes that live until the backward, by the line that makes them: eager autograd's, then each partition's."""
    names = list(dict.fromkeys(cut.name for region in regions for cut in region.partitions))
    by_line: dict[str, dict[str, int]] = {}
    for tensor in {one.storage: one for one in reversed(eager) if not one.held}.values():
        _add(by_line, str(tensor.site or NOWHERE), "eager", tensor.bytes)
    for region in regions:
        for cut in region.partitions:
            kept = {region.nodes[number].storage: number for number in cut.saved if not region.is_held(number)}
            for number in kept.values():
                node = region.nodes[number]
                _add(by_line, str(node.site or NOWHERE), cut.name, node.bytes)
    columns = (Column("line", Unit.PLACE), *(Column(name, Unit.BYTES) for name in ("eager", *names)))
    rows = [(line, *(counts.get(name) for name in ("eager", *names))) for line, counts in by_line.items()]
    totals = {name: sum(counts.get(name, 0) for counts in by_line.values()) for name in ("eager", *names)}
    notes = [f"eager autograd saves {size(totals['eager'])}"]
    notes += [f"{name} saves {size(totals[name])}: {_saving(totals['eager'], totals[name])}" for name in names]
    if len(regions) > 1:
        notes.append("a value that goes from one region to the next is an input there and counts for neither")
    return Table("saved by line, beside eager autograd", columns, tuple(rows), tuple(notes))


def titled(node: JointNode) -> str:
    """`primals_1: x`, or the name alone."""
    return f"{node.name}: {node.label}" if node.label else node.name


def kind(node: JointNode) -> str | None:
    """A node's type as people read it."""
    return None if node.type is None else str(node.type)


def remark(region: Region, node: JointNode) -> str | None:
    """What there is to say of a node beyond its operator: what it is to the user, which gradients it adds, a view."""
    words = [node.label] if node.label else []
    if node.uses:
        what = "a value" if node.addition_of is None else titled(region.nodes[node.addition_of])
        places = " and ".join(dict.fromkeys(_short(region.nodes[use]) for use in node.uses))
        places += " twice" if len(node.uses) == 1 else ""
        words.append(f"addition of gradients because {what} is used at {places}")
    elif _is_view(region, node):
        words.append("a view")
    return "; ".join(words) or None


def _is_view(region: Region, node: JointNode) -> bool:
    shared = (region.nodes[one].storage for one in node.inputs)
    return node.storage >= 0 and node.storage in shared


def _short(node: JointNode) -> str:
    """`train.py:31 (sin)`."""
    if node.site is None:
        return node.name
    return f"{node.site.file.rpartition('/')[2]}:{node.site.line} ({node.name})"


def _verdict(region: Region, cut: Partition, number: int, held: bool) -> str | None:
    if number in cut.saved:
        return INPUT if held else SAVED
    return AGAIN if number in region.recomputed(cut) else None


def _balance(region: Region, cut: Partition) -> str:
    again = region.recomputed(cut)
    words = f"{cut.name} saves {size(region.saved_bytes(cut))}"
    return words if not again else f"{words} and computes {amount(len(again), 'node')} again"


def _saving(before: int, after: int) -> str:
    if not before:
        return "there is nothing to save"
    share = (before - after) / before
    return f"{abs(share):.0%} {'less' if share >= 0 else 'more'} than eager"


def _add(by_line: dict[str, dict[str, int]], line: str, name: str, count: int) -> None:
    counts = by_line.setdefault(line, {})
    counts[name] = counts.get(name, 0) + count
