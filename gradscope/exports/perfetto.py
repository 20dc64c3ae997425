"""Writes a recording as a Perfetto trace: a process for each rank, a track for each thread, flows between slices.

The numbers are those of Perfetto's trace_packet.proto and track_descriptor.proto.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import BinaryIO

from gradscope.exports.protobuf import data, number, text
from gradscope.exports.slices import Slices
from gradscope.exports.spread import Spread, Timed, in_order
from gradscope.exports.track import PACKET, SEQUENCE, Track

_DESCRIPTOR = 60  # of TracePacket
_TRACK_UUID, _PROCESS, _THREAD, _PARENT = 1, 3, 4, 5  # of TrackDescriptor
_SPAN = 1 << 20  # ids of tracks and flows of a process


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the trace: its place among them, its pid and its name."""

    place: int
    pid: int
    name: str


def write(stream: BinaryIO, process: Process, slices: Slices) -> int:
    """Write one process. Returns how many slices it has."""
    first = (process.place + 1) * _SPAN
    known_as = number(1, process.pid) + text(6, process.name)
    stream.write(_packet(data(_DESCRIPTOR, number(_TRACK_UUID, first) + data(_PROCESS, known_as))))
    threads: dict[int, list[Timed]] = defaultdict(list)
    for thread, found in slices:
        threads[thread] += found
    for thread, items in sorted(threads.items()):
        name = f"thread {thread}" if thread else "main thread"
        track = first + thread + 1
        about = data(_THREAD, number(1, process.pid) + number(2, process.pid + thread) + text(5, name))
        stream.write(_packet(data(_DESCRIPTOR, number(_TRACK_UUID, track) + number(_PARENT, first) + about)))
        for pieces in Track(track, first, slices.drawn).events(in_order(items)):
            stream.write(b"".join(pieces))
    return sum(len(one.places) if isinstance(one, Spread) else 1 for items in threads.values() for one in items)


def _packet(content: bytes) -> bytes:
    return data(PACKET, content + number(SEQUENCE, 1))
