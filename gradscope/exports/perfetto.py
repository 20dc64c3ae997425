"""Writes slices as a Perfetto trace: a process for each rank, a track for each thread, flows between slices.

The numbers are those of Perfetto's trace_packet.proto, track_event.proto and track_descriptor.proto.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import BinaryIO

from gradscope.exports.places import NODE
from gradscope.exports.protobuf import TIME_BYTES, Times, data, head, number, text, varint
from gradscope.model.export import Kind, Slice, Stretch

_PACKET = 1  # of Trace
_TIMESTAMP, _SEQUENCE, _EVENT, _DESCRIPTOR = 8, 10, 11, 60  # of TracePacket
_TYPE, _UUID, _CATEGORIES, _NAME, _ANNOTATION, _FLOW = 9, 11, 22, 23, 4, 47  # of TrackEvent
_BEGIN, _END = 1, 2
_ARROW = varint(_FLOW << 3 | 1)  # eight bytes follow
_ARROW_BYTES = len(_ARROW) + 8
_AT_ONCE = 1 << 14  # pieces
_NEVER = 1 << 63  # later than any time
_ANNOTATION_NAME, _ANNOTATION_TEXT = 10, 6
_TRACK_UUID, _PROCESS, _THREAD, _PARENT = 1, 3, 4, 5  # of TrackDescriptor
_SPAN = 1 << 20  # ids of tracks and flows of a process


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the trace: its place among them, its pid and its name."""

    place: int
    pid: int
    name: str


def write(stream: BinaryIO, process: Process, stretches: Iterable[Stretch]) -> int:
    """Write one process. Returns how many slices it has."""
    first = (process.place + 1) * _SPAN
    known_as = number(1, process.pid) + text(6, process.name)
    stream.write(_packet(data(_DESCRIPTOR, number(_TRACK_UUID, first) + data(_PROCESS, known_as))))
    known: dict[int, list[Slice]] = defaultdict(list)
    for stretch in stretches:
        known[stretch.thread] += stretch.slices
    entered = _entered(known.values())
    for thread, slices in sorted(known.items()):
        name = f"thread {thread}" if thread else "main thread"
        track = first + thread + 1
        about = data(_THREAD, number(1, process.pid) + number(2, process.pid + thread) + text(5, name))
        stream.write(_packet(data(_DESCRIPTOR, number(_TRACK_UUID, track) + number(_PARENT, first) + about)))
        slices.sort(key=itemgetter(0))  # of those that start together the first is around the others
        for pieces in _events(track, first, entered, slices):
            stream.write(b"".join(pieces))
    return sum(map(len, known.values()))


def _entered(threads: Iterable[list[Slice]]) -> frozenset[int]:
    """The flows that end in a node: one that never does is not drawn."""
    return frozenset(flow for slices in threads for _, _, kind, flow in slices if flow and kind.category == NODE)


def _events(track: int, first: int, entered: Container[int], slices: list[Slice]) -> Iterator[list[bytes]]:
    """Begins and ends in order, each inside of what is around it: a viewer draws what overlaps in one track wrong."""
    begin, begin_arrow, time = _Heads(track, 0), _Heads(track, _ARROW_BYTES), Times().varint
    end, ended = _framed(track, number(_TYPE, _END) + number(_UUID, track), 0)
    waiting = [_NEVER]  # the ends of what has begun
    pieces: list[bytes] = []
    for start, until, kind, flow in slices:
        while waiting[-1] <= start:
            pieces += end, time(waiting.pop()), ended
        if flow in entered:
            before, after = begin_arrow[kind]
            pieces += before, time(start), after, _ARROW, (first + flow).to_bytes(8, "little")
        else:
            before, after = begin[kind]
            pieces += before, time(start), after
        waiting.append(until if until < waiting[-1] else waiting[-1])
        if len(pieces) > _AT_ONCE:
            yield pieces
            pieces = []
    for last in reversed(waiting[1:]):
        pieces += end, time(last), ended
    yield pieces


class _Heads(dict[Kind, tuple[bytes, bytes]]):
    """What stands before and after the time of a slice's begin, by its kind; so many bytes of arrows follow."""

    def __init__(self, track: int, arrows: int) -> None:
        super().__init__()
        self._track, self._arrows = track, arrows

    def __missing__(self, kind: Kind) -> tuple[bytes, bytes]:
        about = number(_TYPE, _BEGIN) + number(_UUID, self._track) + _about(kind)
        found = self[kind] = _framed(self._track, about, self._arrows)
        return found


def _framed(track: int, event: bytes, arrows: int) -> tuple[bytes, bytes]:
    """What stands before and after the time in the packet of an event, which so many bytes of arrows will end."""
    stamp = varint(_TIMESTAMP << 3)
    rest = number(_SEQUENCE, track) + head(_EVENT, len(event) + arrows) + event
    return head(_PACKET, len(stamp) + TIME_BYTES + len(rest) + arrows) + stamp, rest


def _about(kind: Kind) -> bytes:
    """Name, category and what stands in the panel of a slice."""
    found = text(_CATEGORIES, kind.category) + text(_NAME, kind.name)
    if kind.place:
        found += data(_ANNOTATION, text(_ANNOTATION_NAME, "line") + text(_ANNOTATION_TEXT, kind.place))
    if not kind.measured:
        found += data(_ANNOTATION, text(_ANNOTATION_NAME, "times") + text(_ANNOTATION_TEXT, "spread evenly"))
    return found


def _packet(content: bytes) -> bytes:
    return data(_PACKET, content + number(_SEQUENCE, 1))
