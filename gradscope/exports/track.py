"""A thread as a track of a Perfetto trace: a packet for each begin and each end of a slice, in the order of time.

The numbers are those of Perfetto's trace_packet.proto and track_event.proto.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from gradscope.exports.protobuf import TIME_BYTES, Times, data, head, number, text, varint
from gradscope.exports.spread import Spread, Timed
from gradscope.model.export import Kind, Slice

PACKET = 1  # of Trace
_TIMESTAMP, SEQUENCE, _EVENT = 8, 10, 11  # of TracePacket
_TYPE, _UUID, _CATEGORIES, _NAME, _ANNOTATION, _FLOW = 9, 11, 22, 23, 4, 47  # of TrackEvent
_BEGIN, _END = 1, 2
_ARROW = varint(_FLOW << 3 | 1)  # eight bytes follow
_ARROW_BYTES = 8
_AT_ONCE = 1 << 14  # pieces
_NEVER = 1 << 63  # later than any time
_ANNOTATION_NAME, _ANNOTATION_TEXT = 10, 6


class Track:
    """Writes the events of one track. `first`: the least id of its process; `drawn`: the flows that lead somewhere."""

    def __init__(self, track: int, first: int, drawn: Container[int]) -> None:
        self._first, self._drawn = first, drawn
        self._begin, self._begin_arrow = _Heads(track), _Heads(track, _ARROW, _ARROW_BYTES)
        self._end, self._ended = _framed(track, number(_TYPE, _END) + number(_UUID, track))
        self._times = Times()

    def events(self, items: Iterable[Timed]) -> Iterator[list[bytes]]:
        """Begins and ends in order, each inside of what is around it: a viewer draws wrong what overlaps in a track."""
        waiting = [_NEVER]  # the ends of what has begun
        pieces: list[bytes] = []
        for item in items:
            if isinstance(item, Spread):
                self._leave(waiting, item.start, pieces)
                if item.until <= waiting[-1]:
                    self._evenly(item, pieces)
                else:  # its last slices are cut off
                    self._nested(item.slices(), waiting, pieces)
            else:
                self._nested((item,), waiting, pieces)
            if len(pieces) > _AT_ONCE:
                yield pieces
                pieces = []
        self._leave(waiting, _NEVER - 1, pieces)
        yield pieces

    def _nested(self, slices: Iterable[Slice], waiting: list[int], pieces: list[bytes]) -> None:
        """Begin slices, each after the end of what is over by then."""
        for start, until, kind, flow in slices:
            self._leave(waiting, start, pieces)
            waiting.append(min(until, waiting[-1]))
            time = self._times.varint(start)
            if flow in self._drawn:
                before, after = self._begin_arrow[kind]
                pieces += before, time, after, (self._first + flow).to_bytes(8, "little")
            else:
                before, after = self._begin[kind]
                pieces += before, time, after

    def _leave(self, waiting: list[int], time: int, pieces: list[bytes]) -> None:
        """End what is over at a time."""
        while waiting[-1] <= time:
            pieces += self._end, self._times.varint(waiting.pop()), self._ended

    def _evenly(self, spread: Spread, pieces: list[bytes]) -> None:
        """The events of operators one after the other, of which a trace has millions, and of the nodes around them."""
        times = self._times.evenly(spread.start, spread.each, spread.operators + 1)
        begin, begin_arrow, end, ended = self._begin, self._begin_arrow, self._end, self._ended
        first, drawn = self._first, self._drawn
        at, closes, time = 0, -1, times[0]
        for place, flow in zip(spread.places, spread.flows, strict=True):
            if flow in drawn:
                before, after = begin_arrow[place.kind]
                pieces += before, time, after, (first + flow).to_bytes(8, "little")
            else:
                before, after = begin[place.kind]
                pieces += before, time, after
            if place.around:
                closes = at + place.length
                continue
            at += 1
            time = times[at]
            pieces += end, time, ended
            if at == closes:
                pieces += end, time, ended


class _Heads(dict[Kind, tuple[bytes, bytes]]):
    """What stands before and after the time of a slice's begin, by its kind; so many bytes follow."""

    def __init__(self, track: int, ending: bytes = b"", follow: int = 0) -> None:
        super().__init__()
        self._track, self._ending, self._follow = track, ending, follow

    def __missing__(self, kind: Kind) -> tuple[bytes, bytes]:
        about = number(_TYPE, _BEGIN) + number(_UUID, self._track) + _about(kind) + self._ending
        found = self[kind] = _framed(self._track, about, self._follow)
        return found


def _framed(track: int, event: bytes, follow: int = 0) -> tuple[bytes, bytes]:
    """What stands before and after the time in the packet of an event, which so many bytes will end."""
    stamp = varint(_TIMESTAMP << 3)
    rest = number(SEQUENCE, track) + head(_EVENT, len(event) + follow) + event
    return head(PACKET, len(stamp) + TIME_BYTES + len(rest) + follow) + stamp, rest


def _about(kind: Kind) -> bytes:
    """Name, category and what stands in the panel of a slice."""
    found = text(_CATEGORIES, kind.category) + text(_NAME, kind.name)
    if kind.place:
        found += data(_ANNOTATION, text(_ANNOTATION_NAME, "line") + text(_ANNOTATION_TEXT, kind.place))
    if not kind.measured:
        found += data(_ANNOTATION, text(_ANNOTATION_NAME, "times") + text(_ANNOTATION_TEXT, "spread evenly"))
    return found
