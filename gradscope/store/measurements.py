"""Reads what `--detail full` measured in a backward call: packed numbers, beside a layout that repeats."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from gradscope.model.statistics import GradientStatistics, NodeRun
from gradscope.store.rows import BYTES, Rows, finite

SIDES = ("in", "out")
_STATISTICS = 5  # norm, largest magnitude, zero share, NaN and Inf count

_BOTH = """SELECT l.entered, l.ran, l.gradients, m.times, m.statistics
  FROM measurement m JOIN layout l ON l.id = m.layout WHERE m.backward = ?"""


def read_entered(packed: bytes) -> tuple[int, ...]:
    """The nodes in the order in which the engine entered them."""
    return _unpacked("i", packed, 1)


def read_node_runs(rows: Rows, backward: int) -> Iterator[NodeRun]:
    """What the engine ran, in order."""
    for _, ran, _, times, _ in rows.select(_BOTH, (BYTES,) * 5, backward):
        places, seconds = _unpacked("i", ran, 2), _unpacked("d", times, 2)
        if len(places) != len(seconds):
            raise ValueError("a node's run has no time")
        for position, at in enumerate(range(0, len(places), 2)):
            started, duration = seconds[at : at + 2]
            yield NodeRun(places[at], position, places[at + 1], finite(started), finite(duration))


def read_gradients(rows: Rows, backward: int) -> list[GradientStatistics]:
    """The gradients, by node, side and position."""
    found = []
    for _, _, gradients, _, statistics in rows.select(_BOTH, (BYTES,) * 5, backward):
        places, numbers = _unpacked("i", gradients, 4), _unpacked("d", statistics, _STATISTICS)
        for at in range(0, len(places), 4):
            node, side, position, row = places[at : at + 4]
            if side not in range(len(SIDES)) or not 0 <= row < len(numbers) // _STATISTICS:
                raise ValueError("a gradient was measured nowhere")
            norm, largest, zero_share, nan, inf = numbers[row * _STATISTICS : (row + 1) * _STATISTICS]
            counts = int(finite(nan)), int(finite(inf))
            found.append(GradientStatistics(node, SIDES[side], position, norm, largest, zero_share, *counts))
    return sorted(found, key=lambda one: (one.node, one.side, one.index))


def _unpacked(kind: str, packed: bytes, width: int) -> tuple[Any, ...]:
    """Little-endian numbers, a whole number of rows of them."""
    size = struct.calcsize(f"<{kind}")
    if len(packed) % (size * width):
        raise ValueError("packed numbers were cut short")
    return struct.unpack(f"<{len(packed) // size}{kind}", packed)
