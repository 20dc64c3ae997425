"""Writes slices as a Perfetto trace: a process for each rank, a track for each thread, flows between slices.

The numbers are those of Perfetto's trace_packet.proto, track_event.proto and track_descriptor.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from gradscope.exports.protobuf import Times, data, head, number, text, varint
from gradscope.model.export import Slice

_PACKET = 1  # of Trace
_TIMESTAMP, _SEQUENCE, _EVENT, _DESCRIPTOR = 8, 10, 11, 60  # of TracePacket
_TYPE, _UUID, _CATEGORIES, _NAME, _ANNOTATION, _FLOW = 9, 11, 22, 23, 4, 47  # of TrackEvent
_BEGIN, _END = 1, 2
_ARROW = varint(_FLOW << 3 | 1)  # eight bytes follow
_AT_ONCE = 4096  # packets
_ANNOTATION_NAME, _ANNOTATION_TEXT = 10, 6
_TRACK_UUID, _TRACK_NAME, _PROCESS, _THREAD, _PARENT = 1, 2, 3, 4, 5  # of TrackDescriptor
_SPAN = 1 << 20  # ids of tracks and flows of a process
_DEPTHS = {"step": 0, "backward": 1, "node": 2, "operator": 3, "collective": 3}


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the trace: its place among them, its pid and its name."""

    place: int
    pid: int
    name: str


def write(stream: BinaryIO, process: Process, slices: Iterable[Slice]) -> int:
    """Write one process. Returns how many slices it has."""
    first = (process.place + 1) * _SPAN
    known_as = number(1, process.pid) + text(6, process.name)
    stream.write(_packet(data(_DESCRIPTOR, number(_TRACK_UUID, first) + data(_PROCESS, known_as))))
    known: dict[int, list[Slice]] = {}
    entered: set[int | None] = set()
    for one in slices:
        known.setdefault(one.thread, []).append(one)
        entered.add(one.enters)
    flows = frozenset(flow for flow in entered if flow is not None)
    for thread, found in sorted(known.items()):
        name = f"thread {thread}" if thread else "main thread"
        track = first + thread + 1
        about = data(_THREAD, number(1, process.pid) + number(2, process.pid + thread) + text(5, name))
        stream.write(_packet(data(_DESCRIPTOR, number(_TRACK_UUID, track) + number(_PARENT, first) + about)))
        _events(stream, track, first, flows, _nested(found))
    return sum(map(len, known.values()))


def _nested(slices: list[Slice]) -> Iterator[tuple[int, Slice | None]]:
    """Begins and ends in order, each inside of what is around it: a viewer draws what overlaps in one track wrong."""
    waiting: list[int] = []
    slices.sort(key=lambda one: one.start << 2 | _DEPTHS[one.category])
    for one in slices:
        while waiting and waiting[-1] <= one.start:
            yield waiting.pop(), None
        yield one.start, one
        waiting.append(min(one.end, waiting[-1]) if waiting else one.end)
    while waiting:
        yield waiting.pop(), None


def _events(
    stream: BinaryIO, track: int, first: int, flows: frozenset[int], events: Iterable[tuple[int, Slice | None]]
) -> None:
    uuid, time = number(_UUID, track), Times().varint
    sequence, stamp = number(_SEQUENCE, track), varint(_TIMESTAMP << 3)
    end = sequence + data(_EVENT, number(_TYPE, _END) + uuid)
    heads: dict[tuple[str, str, str, bool, int], bytes] = {}
    packets: list[bytes] = []
    for when, one in events:
        rest = end
        if one is not None:
            arrows = _arrows(one, first, flows)
            key = (one.name, one.category, one.place, one.measured, len(arrows))
            rest = heads.get(key, b"")
            if not rest:
                about = number(_TYPE, _BEGIN) + uuid + _about(one)
                rest = heads[key] = sequence + head(_EVENT, len(about) + len(arrows)) + about
            rest += arrows
        content = stamp + time(when) + rest
        packets.append(b"\x0a" + varint(len(content)) + content)
        if len(packets) > _AT_ONCE:
            stream.write(b"".join(packets))
            packets.clear()
    stream.write(b"".join(packets))


def _arrows(one: Slice, first: int, flows: frozenset[int]) -> bytes:
    """The flows that leave a slice or end in it."""
    found = b""
    for flow in (one.leaves, one.enters):
        if flow is not None and flow in flows:
            found += _ARROW + (first + flow).to_bytes(8, "little")
    return found


def _about(one: Slice) -> bytes:
    """Name, category and what stands in the panel of a slice."""
    found = text(_CATEGORIES, one.category) + text(_NAME, one.name)
    if one.place:
        found += data(_ANNOTATION, text(_ANNOTATION_NAME, "line") + text(_ANNOTATION_TEXT, one.place))
    if not one.measured:
        found += data(_ANNOTATION, text(_ANNOTATION_NAME, "times") + text(_ANNOTATION_TEXT, "spread evenly"))
    return found


def _packet(content: bytes) -> bytes:
    return data(_PACKET, content + number(_SEQUENCE, 1))
