"""The little of Protocol Buffers that a trace takes: varints, strings and messages, by the numbers of fields."""

from __future__ import annotations


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SHORT = tuple(map(_encoded, range(1 << 10)))  # lengths and numbers of fields, of which a trace has millions


def varint(value: int) -> bytes:
    """A non-negative integer, seven bits a byte."""
    return _SHORT[value] if value < len(_SHORT) else _encoded(value)


_BITS = 14
_TWO = tuple(bytes((low & 0x7F | 0x80, low >> 7 | 0x80)) for low in range(1 << _BITS))  # two bytes that go on
TIME_BYTES = 9


class Times:
    """Varints of times, as many bytes each. They share their high bits for long, and one often is that before it."""

    def __init__(self) -> None:
        self._last, self._found, self._high, self._end = -1, b"", -1, b""

    def varint(self, value: int) -> bytes:
        """Nine bytes, some of which a small number would not need: they carry 63 bits."""
        if value != self._last:
            high = value >> 2 * _BITS
            if high != self._high:
                self._high, self._end = high, _padded(high, TIME_BYTES - 4)
            self._last = value
            self._found = _TWO[value & 0x3FFF] + _TWO[value >> _BITS & 0x3FFF] + self._end
        return self._found

    def evenly(self, start: int, each: int, count: int) -> list[bytes]:
        """So many of them, from one on."""
        high, first = divmod(start, 1 << 2 * _BITS)
        values = range(first, first + each * count, each)  # small numbers, which are quick to work with
        if values[-1] >> 2 * _BITS:
            return list(map(self.varint, range(start, start + each * count, each)))
        two, end = _TWO, _padded(high, TIME_BYTES - 4)
        return [two[value & 0x3FFF] + two[value >> _BITS] + end for value in values]


def _padded(value: int, length: int) -> bytes:
    """So many bytes, of which all but the last say that more follow."""
    found = bytearray(value >> 7 * place & 0x7F | 0x80 for place in range(length))
    found[-1] &= 0x7F
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """An integer field."""
    return varint(field << 3) + varint(value)


def head(field: int, length: int) -> bytes:
    """What stands before so many bytes of a field, or message."""
    return varint(field << 3 | 2) + varint(length)


def data(field: int, content: bytes) -> bytes:
    """A field of bytes, or a message."""
    return head(field, len(content)) + content


def text(field: int, content: str) -> bytes:
    """A string field."""
    return data(field, content.encode("utf-8", "backslashreplace"))
