"""What one single loss weighs in the loss of its rank: what the sum or the mean that it stands in receives, in a
sample of the backward calls. Ranks whose weights are unlike average what is none."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Graph, Node
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.mean_losses import have_own_losses
from gradscope.ranks.gradients.own_counts import OwnCounts, own_counts
from gradscope.ranks.gradients.reduced import is_hooked
from gradscope.ranks.source.deciding import names_their_number, origin
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_SCALES = re.compile(r"(Div|Mul)Backward\d")
_PASSES = re.compile(r"(Div|Mul|Add|Sub|Neg|ToCopy|View|Squeeze)Backward\d")
_SUMS = re.compile(r"(Sum|Dot)Backward\d")
_MEANS = re.compile(r"MeanBackward\d")
_LOSSES = re.compile(r"(NllLoss|NllLoss2D|MseLoss|L1Loss|SmoothL1Loss|HuberLoss|BinaryCrossEntropy\w*)Backward\d")
_SELECTS = re.compile(r"(MaskedSelect|Index)Backward\d")
_OF_A_SUM = re.compile(r"\breduction\s*=\s*['\"]sum['\"]")
_LOOKS = 5  # those of 16 steps
_FIRST = 16  # backward calls: of more, those that were measured
_TIMES = 1.5
_WHOLE = 1e-3  # of a count: a gradient has few digits


@dataclass(frozen=True, slots=True)
class Term:
    """A sum or mean of which a loss is made: the line that divides by a number of the rank's own, and what one single
    loss in it may weigh; there are two where nobody knows whether it is a sum or a mean."""

    name: str
    site: Site | None
    received: float
    weights: tuple[float, ...]
    is_own: bool


@dataclass(frozen=True, slots=True)
class Weighed:
    """The line, the ranks whose single losses weigh most and least at each look, and how many times as much."""

    site: Site
    most: int
    least: int
    times: float


def weighed_apart(ranks: Ranks, replicas: Replicas) -> Weighed | None:
    """How unlike single losses weigh on several ranks, by what each has counted of its own data."""
    if len(replicas.members) < 2 or not have_own_losses(ranks, replicas):
        return None
    terms: dict[int, dict[int, list[Term]]] = {}
    for number in replicas.members:
        with load(Path(ranks.rank(number).path)) as recording:
            if is_hooked(recording) or (replicas.leaves is not None and _scales_before_they_meet(recording)):
                return None
            terms[number] = _terms_of(recording)
    looks = sorted(set.intersection(*(set(one) for one in terms.values())))
    if len(looks) < _LOOKS:
        return None
    places = {len(one[look]) for one in terms.values() for look in looks}
    found = (_at(terms, looks, place) for place in range(places.pop() if len(places) == 1 else 0))
    return next(filter(None, found), None)


def _at(terms: dict[int, dict[int, list[Term]]], looks: list[int], place: int) -> Weighed | None:
    """Whether the terms at one place of each loss weigh single losses apart."""
    columns = [{number: one[look][place] for number, one in terms.items()} for look in looks]
    every = [term for column in columns for term in column.values()]
    if len({(term.name, str(term.site), len(term.weights)) for term in every}) != 1 or not every[0].weights:
        return None
    first = columns[0]
    most = max(first, key=lambda number: first[number].weights[0])
    least = min(first, key=lambda number: first[number].weights[0])
    pairs = [one for column in columns for one in zip(column[most].weights, column[least].weights, strict=True)]
    times = min(more / less for more, less in pairs)
    site = every[0].site
    are_own = all(term.is_own for term in every) or _are_counts(terms, looks, place)
    return Weighed(site, most, least, times) if site is not None and times >= _TIMES and are_own else None


def _are_counts(terms: dict[int, dict[int, list[Term]]], looks: list[int], place: int) -> bool:
    """Whether each rank's weights are one by whole numbers, which are others from look to look: no settings."""
    for one in terms.values():
        counts = {1 / one[look][place].weights[0] for look in looks}
        if len(counts) < 2 or any(each < 2 or abs(each - round(each)) > _WHOLE * each for each in counts):
            return False
    return True


def _terms_of(recording: Recording) -> dict[int, list[Term]]:
    """By look: the terms of the loss, in the order in which they are added up; where all of them were measured."""
    counts, known, measured = own_counts(recording), recording.graph_sizes(), recording.node_sizes()
    sums = any(_OF_A_SUM.search(recording.source(file) or "") for file in recording.sources())
    found: dict[int, list[Term]] = {}
    for look in sorted({*sorted(known)[:_FIRST], *measured} & set(known)):
        terms = list(_terms(recording.graph(look), measured.get(look, {}), counts, is_sum=sums))
        if terms and all(one.received > 0 and math.isfinite(one.received) for one in terms):
            found[look] = terms
    return found


def _terms(graph: Graph, sizes: dict[int, float], counts: OwnCounts, *, is_sum: bool) -> Iterator[Term]:
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    ways: dict[int, tuple[Node, ...]] = {root: () for root in graph.roots if len(graph.roots) == 1}
    for at in (waiting := list(ways)):  # grows while it is walked
        node = graph.nodes[at]
        if not _is_one_number(node):
            continue
        if _PASSES.fullmatch(node.name):
            new = [one for one in onward.get(at, ()) if one not in ways]
            ways.update(dict.fromkeys(new, (*ways[at], node)))
            waiting += new
            continue
        received = sizes.get(at, 1.0 if not ways[at] else 0.0)  # a backward begins with 1
        inside = [graph.nodes[one] for one in onward.get(at, ())]
        yield _term(node, ways[at], inside, received, counts, is_sum=is_sum)


def _term(
    node: Node, way: tuple[Node, ...], inside: list[Node], received: float, counts: OwnCounts, *, is_sum: bool
) -> Term:
    many = next((math.prod(meta.shape) for one in inside[:1] for meta in one.inputs_meta[:1] if meta is not None), 0)
    scales = [one for one in way if _SCALES.fullmatch(one.name)]
    places = [(str(one.site), one.name.startswith("Div")) for one in scales]
    own = [one for one, place in zip(scales, places, strict=True) if counts.by_counts.get(place)]
    plain = all(counts.plain.get(place) for place in places)
    selects = bool(inside) and _SELECTS.fullmatch(inside[0].name) is not None
    selected = selects and _MEANS.fullmatch(node.name) is not None and counts.selected.get(str(inside[0].site), False)
    weights: tuple[float, ...] = ()
    if many and plain:
        if _SUMS.fullmatch(node.name):
            weights = (received,)
        elif _MEANS.fullmatch(node.name):
            weights = (received / many,) if selects or scales else ()
        elif _LOSSES.fullmatch(node.name):
            weights = (received,) if is_sum else (received, received / many)
    site = (own or scales or [node])[-1].site
    return Term(node.name, site, received, weights, bool(own) or selected)


def _is_one_number(node: Node) -> bool:
    return any(one is not None and math.prod(one.shape) == 1 for one in node.inputs_meta[:1])


def _scales_before_they_meet(recording: Recording) -> bool:
    """Whether a program gives gradients weights of their own before it exchanges them; to divide by the number of ranks
    is none."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    gradients, made_of_them = set[int](), set[int]()
    for one in recording.flow():
        read = {storages[each.tensor] for each in one.reads if each.tensor in storages}
        made = [storages[each] for each in one.makes if each in storages]
        theirs = not gradients.isdisjoint(read)
        if one.backward is not None:
            gradients.update(made)
        elif not is_collective(one.operation.name):
            if theirs and _is_a_scale(one) and _is_a_weight(recording, one):
                return True
            made_of_them.update(made if theirs else ())
        elif theirs or not made_of_them.isdisjoint(read):  # a count may be summed before
            gradients.clear()
            made_of_them.clear()
    return False


def _is_a_weight(recording: Recording, one: FlowOperation) -> bool:
    return len(one.reads) > 1 or not _is_by_their_number(recording, one.operation.stack)


def _is_a_scale(one: FlowOperation) -> bool:
    named = base_name(one.operation.name).removeprefix("_foreach_").rstrip("_") in ("mul", "div", "true_divide")
    return named and not any("torch/optim" in site.file for site in one.operation.stack)


def _is_by_their_number(recording: Recording, stack: Stack) -> bool:
    """Whether a line names the number of ranks, or what was given it."""
    frames = frames_of(recording, stack)
    line = frames[0].site.line if frames else 0
    nodes = (node for node in ast.walk(frames[0].function) if getattr(node, "lineno", 0) == line) if frames else ()
    values = (node for node in nodes if isinstance(node, ast.Name | ast.Attribute | ast.Call))
    return any(origin(recording, frames, value, names_their_number) is not None for value in values)
