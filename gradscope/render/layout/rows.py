"""Makes rows of a layer that is too wide, as a fan of 500 nodes is: each row is a layer of its own.

Of wide layers that follow each other, a row of the first stands above what it leads to in the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby
from math import isqrt

WIDE = 40  # vertices that stand side by side


def make_rows(layer: list[int], vertices: list[int], after: list[list[int]], beside: int = WIDE) -> bool:
    """Give vertices new layers where one holds too many, row by row in the order given; False when none does.

    `layer` is changed; `after` are the vertices that each one leads to; `beside` how many may stand side by side.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for vertex in vertices:
        members[layer[vertex]].append(vertex)
    added = 0
    for numbers in _together(members, beside):
        places = _rows([members[number] for number in numbers], after, beside)
        used = {place: number for number, place in enumerate(sorted(set(places.values())))}
        for vertex, place in places.items():
            layer[vertex] = numbers[0] + added + used[place]
        added += len(used) - len(numbers)
    return added > 0


def _together(members: dict[int, list[int]], beside: int) -> Iterator[list[int]]:
    """The numbers of layers, those of wide ones that follow each other together."""
    for is_wide, run in groupby(sorted(members), key=lambda number: len(members[number]) > beside):
        numbers = list(run)
        yield from [numbers] if is_wide else ([number] for number in numbers)


def _rows(layers: list[list[int]], after: list[list[int]], beside: int) -> dict[int, int]:
    """Places of vertices from the top, with gaps: the first row of each layer, then the second of each, and so on."""
    count = max(map(len, layers))
    length = count if count <= beside else max(beside // 2, isqrt(count))
    row: dict[int, int] = {}
    least: dict[int, int] = defaultdict(int)  # not above what leads to it
    places: dict[int, int] = {}
    for number, members in enumerate(layers):
        taken: Counter[int] = Counter()
        for vertex in members:
            row[vertex] = least[vertex]
            while taken[row[vertex]] == length:
                row[vertex] += 1
            taken[row[vertex]] += 1
            places[vertex] = row[vertex] * len(layers) + number
            for lower in after[vertex]:
                least[lower] = max(least[lower], row[vertex])
    return places
