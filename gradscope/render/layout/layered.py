"""Lays out one level: vertices in layers by longest path, few crossings, each as near to its neighbours as can be.

The surprise: places across a layer are found by isotonic regression, which is exact and linear: the order and the
distances are given, and every vertex has one place where it would like to be.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gradscope.render.layout.rows import WIDE, make_rows

APART = 24.0  # between boxes of a layer
STRANDS_APART = 14.0  # between arrows that pass
LAYERS_APART = 26.0
MOST_APART = 70.0
MOST_PASSING = 20_000  # places where long arrows pass layers; more go straight
FEW = 2_000  # vertices for which all sweeps are made
ROW = 8  # vertices with nothing attached, in rows
TRUNK = 8  # arrows from one vertex, or to one, that pass rows as one line


Trunk = tuple[int, float, bool]  # a vertex, where at it, and whether it is the upper end


@dataclass(slots=True)
class Strand:
    """A connection of two vertices, the upper one first, each at an offset from the vertex's middle.

    `way` are the vertices of passing through layers in between, from the upper to the lower end.
    """

    upper: int
    lower: int
    upper_at: float = 0.0
    lower_at: float = 0.0
    way: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Layering:
    """Vertices with sizes, which grow while strands are led through; `order` breaks ties and cycles.

    `ceiling` and `floor` are vertices that stand above and below all others, `beside` how many may stand side by side.
    What is found: `x` of each middle, and the
    `tops` and `heights` of the layers; `wrapped` tells whether rows were made of some.
    """

    widths: list[float]
    heights: list[float]
    order: list[int]
    strands: list[Strand]
    ceiling: frozenset[int] = frozenset()
    floor: frozenset[int] = frozenset()
    beside: int = WIDE
    layer: list[int] = field(default_factory=list)
    layers: list[list[int]] = field(default_factory=list)
    x: list[float] = field(default_factory=list)
    tops: list[float] = field(default_factory=list)
    tall: list[float] = field(default_factory=list)
    items: int = 0
    wrapped: bool = False


def sequence(order: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Vertices so that edges go forward, by `order` where there is a choice; a cycle is entered at its first vertex."""
    waits = [0] * len(order)
    after: list[list[int]] = [[] for _ in order]
    for tail, head in edges:
        waits[head] += 1
        after[tail].append(head)
    by_order = iter(sorted(range(len(order)), key=order.__getitem__))
    ready = [(order[vertex], vertex) for vertex in range(len(order)) if not waits[vertex]]
    heapq.heapify(ready)
    done = [False] * len(order)
    found: list[int] = []
    while len(found) < len(order):
        vertex = heapq.heappop(ready)[1] if ready else next(one for one in by_order if not done[one])
        if done[vertex]:
            continue
        done[vertex] = True
        found.append(vertex)
        for head in after[vertex]:
            waits[head] -= 1
            if not waits[head] and not done[head]:
                heapq.heappush(ready, (order[head], head))
    return found


def arrange(level: Layering) -> None:
    """Find a place for every vertex, and ways for the strands."""
    level.items = len(level.order)
    _assign_layers(level)
    _lead_through(level)
    count = 1 + max(level.layer, default=0)
    level.layers = [[] for _ in range(count)]
    for vertex in sorted(range(len(level.layer)), key=level.order.__getitem__):
        level.layers[level.layer[vertex]].append(vertex)
    above, below = _neighbours(level)
    _untangle(level, above, below)
    _place_across(level, above, below)
    _stack(level)


def _assign_layers(level: Layering) -> None:
    """Longest paths from the top; what nothing leads to stands just above what it leads to."""
    fixed = level.ceiling | level.floor
    inner = [strand for strand in level.strands if strand.upper not in fixed and strand.lower not in fixed]
    after: list[list[int]] = [[] for _ in level.order]
    led = [False] * len(level.order)
    for strand in inner:
        after[strand.upper].append(strand.lower)
        led[strand.lower] = True
    turns = sequence(level.order, [(strand.upper, strand.lower) for strand in inner])
    layer = [0] * len(level.order)
    for vertex in turns:
        for lower in after[vertex]:
            layer[lower] = max(layer[lower], layer[vertex] + 1)
    for vertex in reversed(turns):
        if after[vertex] and not led[vertex]:
            layer[vertex] = max(layer[vertex], min(layer[lower] for lower in after[vertex]) - 1)
    attached = fixed | {end for strand in level.strands for end in (strand.upper, strand.lower)}
    alone = [vertex for vertex in turns if vertex not in attached]
    if len(alone) > ROW:
        first = 1 + max((layer[vertex] for vertex in turns if vertex in attached), default=-1)
        for place, vertex in enumerate(alone):
            layer[vertex] = first + place // ROW
    if level.ceiling:
        layer = [number + 1 for number in layer]
    in_order = sorted((one for one in turns if one not in fixed), key=level.order.__getitem__)
    level.wrapped = make_rows(layer, in_order, after, level.beside)
    bottom = max((layer[vertex] for vertex in turns if vertex not in fixed), default=0) + 1
    for vertex in fixed:
        layer[vertex] = 0 if vertex in level.ceiling else bottom
    level.layer = layer


def _lead_through(level: Layering) -> None:
    """A vertex in each layer that a strand passes; the longest go straight when there would be too many.

    Past rows, strands of one vertex go together.
    """
    left = MOST_PASSING + 4 * len(level.order)
    spans = [level.layer[strand.lower] - level.layer[strand.upper] - 1 for strand in level.strands]
    trunks = _trunks(level, spans) if level.wrapped else {}
    passing: dict[tuple[Trunk, int], int] = {}
    for place in sorted(range(len(spans)), key=spans.__getitem__):
        strand, trunk = level.strands[place], trunks.get(place)
        left -= spans[place]
        if left < 0:
            return
        for layer in range(level.layer[strand.upper] + 1, level.layer[strand.lower]):
            if trunk is not None and (trunk, layer) in passing:
                strand.way.append(passing[trunk, layer])
                continue
            strand.way.append(len(level.layer))
            level.layer.append(layer)
            level.widths.append(0.0)
            level.heights.append(0.0)
            level.order.append(level.order[strand.lower])
            if trunk is not None:
                passing[trunk, layer] = strand.way[-1]


def _trunks(level: Layering, spans: Sequence[int]) -> dict[int, Trunk]:
    """For strands that pass rows: the end that many of them have in common, an upper one first."""
    ends = [((strand.upper, strand.upper_at, True), (strand.lower, strand.lower_at, False)) for strand in level.strands]
    counts = Counter(end for place, both in enumerate(ends) if spans[place] for end in both)
    found: dict[int, Trunk] = {}
    for place, both in enumerate(ends):
        shared = [end for end in both if counts[end] >= TRUNK]
        if shared:
            found[place] = shared[0]
    return found


Links = list[list[tuple[int, float, float, float]]]  # neighbour, offset here, offset there, weight


def _neighbours(level: Layering) -> tuple[Links, Links]:
    """Of every vertex what is attached above and below it, in the next layers."""
    above: Links = [[] for _ in level.layer]
    below: Links = [[] for _ in level.layer]
    for strand in level.strands:
        for upper, lower, upper_at, lower_at in _steps(strand):
            if level.layer[lower] != level.layer[upper] + 1:
                continue  # goes straight
            passing = (upper >= level.items) + (lower >= level.items)
            weight = (1.0, 2.0, 8.0)[passing]
            above[lower].append((upper, lower_at, upper_at, weight))
            below[upper].append((lower, upper_at, lower_at, weight))
    return above, below


def _steps(strand: Strand) -> Iterator[tuple[int, int, float, float]]:
    ends = [strand.upper, *strand.way, strand.lower]
    last = len(ends) - 2
    for place, (upper, lower) in enumerate(pairwise(ends)):
        yield upper, lower, strand.upper_at if place == 0 else 0.0, strand.lower_at if place == last else 0.0


def _untangle(level: Layering, above: Links, below: Links) -> None:
    """Sort layers by the middle of their neighbours, down and up; the way with the fewest crossings stays."""
    many = len(level.layer) > FEW
    best, fewest = [list(layer) for layer in level.layers], None if many else _crossings(level, below)
    for sweep in range(3 if many else 10):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        links = above if down else below
        position = _positions(level)
        for layer in level.layers if down else reversed(level.layers):
            wish = {vertex: _middle(vertex, links, position, level.widths) for vertex in layer}
            layer.sort(key=wish.__getitem__)
            position.update((vertex, place) for place, vertex in enumerate(layer))
        if many:
            continue
        crossings = _crossings(level, below)
        if fewest is None or crossings < fewest:
            best, fewest = [list(layer) for layer in level.layers], crossings
    if not many:
        level.layers = best


def _positions(level: Layering) -> dict[int, float]:
    return {vertex: float(place) for layer in level.layers for place, vertex in enumerate(layer)}


def _middle(vertex: int, links: Links, position: dict[int, float], widths: list[float]) -> float:
    """The mean place of the neighbours; one of a wide neighbour counts where it is attached."""
    near = links[vertex]
    if not near:
        return position[vertex]
    return sum(position[other] + at / (widths[other] + 1.0) for other, _, at, _ in near) / len(near)


def _crossings(level: Layering, below: Links) -> int:
    """How often strands between neighbouring layers cross, counted with a Fenwick tree."""
    total = 0
    place: dict[int, int] = {vertex: at for layer in level.layers for at, vertex in enumerate(layer)}
    for layer, lower in pairwise(level.layers):
        tree = [0] * (len(lower) + 1)
        seen = 0
        for vertex in layer:
            ends = sorted(place[other] for other, *_ in below[vertex])
            for end in ends:
                at, smaller = end + 1, 0
                while at:
                    smaller += tree[at]
                    at &= at - 1
                total += seen - smaller
            for end in ends:
                at, seen = end + 1, seen + 1
                while at <= len(lower):
                    tree[at] += 1
                    at += at & -at
    return total


def _place_across(level: Layering, above: Links, below: Links) -> None:
    """Bring every vertex near its neighbours: down, up, and at last between both."""
    level.x = [0.0] * len(level.layer)
    for layer in level.layers:
        x = 0.0
        for left, vertex in zip([None, *layer], layer, strict=False):
            x += 0.0 if left is None else _apart(level, left, vertex)
            level.x[vertex] = x
    down, up = (level.layers, (above,)), (level.layers[::-1], (below,))
    both = (level.layers, (above, below)), (level.layers[::-1], (above, below))
    for layers, links in (down, up, *both) if len(level.layer) > FEW else (down, up, down, up, *both, *both, *both):
        for layer in layers:
            _fit(level, layer, [_wish(level, vertex, links) for vertex in layer])


def _apart(level: Layering, left: int, right: int) -> float:
    """The least distance of two neighbours' middles."""
    passing = left >= level.items or right >= level.items
    return (level.widths[left] + level.widths[right]) / 2 + (STRANDS_APART if passing else APART)


def _wish(level: Layering, vertex: int, links: tuple[Links, ...]) -> tuple[float, float]:
    """Where a vertex would like to be, and how much.

    Between what is above it, or below, in the middle. Between both it likes to stay where it is, as long as that is
    somewhere between: a mean would make straight columns slant.
    """
    wishes = [(level.x[other] + there - here, weight) for near in links for other, here, there, weight in near[vertex]]
    if not wishes:
        return level.x[vertex], 0.05
    heavy = sum(weight for _, weight in wishes)
    if len(links) == 1:
        return sum(place * weight for place, weight in wishes) / heavy, heavy
    low, high = _median(sorted(wishes), heavy)
    return min(max(level.x[vertex], low), high), heavy


def _median(wishes: list[tuple[float, float]], heavy: float) -> tuple[float, float]:
    """The places between which all are equally good: as much weight on the left as on the right."""
    passed = 0.0
    for at, (place, weight) in enumerate(wishes):
        passed += weight
        if passed == heavy / 2:
            return place, wishes[at + 1][0]
        if passed > heavy / 2:
            return place, place
    return wishes[-1][0], wishes[-1][0]


def _fit(level: Layering, layer: list[int], wishes: list[tuple[float, float]]) -> None:
    """The places closest to the wishes that keep order and distances: neighbours that collide move as one block."""
    blocks: list[tuple[float, float, int]] = []  # place, weight, members
    shift = 0.0
    shifts: list[float] = []
    for at, vertex in enumerate(layer):
        shift += _apart(level, layer[at - 1], vertex) if at else 0.0
        shifts.append(shift)
        place, weight, members = wishes[at][0] - shift, wishes[at][1], 1
        while blocks and blocks[-1][0] >= place:
            before, heavy, count = blocks.pop()
            place = (place * weight + before * heavy) / (weight + heavy)
            weight, members = weight + heavy, members + count
        blocks.append((place, weight, members))
    places = [place for place, _, members in blocks for _ in range(members)]
    for vertex, place, moved in zip(layer, places, shifts, strict=True):
        level.x[vertex] = place + moved


def _stack(level: Layering) -> None:
    """Layers one below the other, further apart where strands between them go far aside."""
    aside = [0.0] * len(level.layers)
    for strand in level.strands:
        for upper, lower, upper_at, lower_at in _steps(strand):
            far = abs(level.x[upper] + upper_at - level.x[lower] - lower_at)
            aside[level.layer[lower]] = max(aside[level.layer[lower]], far)
    level.tall = [max((level.heights[vertex] for vertex in layer), default=0.0) for layer in level.layers]
    top = 0.0
    level.tops = []
    for number, layer in enumerate(level.layers):
        if number:
            edge = not level.floor.isdisjoint(layer) or not level.ceiling.isdisjoint(level.layers[number - 1])
            apart = min(LAYERS_APART + aside[number] / 10, MOST_APART)
            top += level.tall[number - 1] + (apart / 2 if edge else apart)
        level.tops.append(top)
