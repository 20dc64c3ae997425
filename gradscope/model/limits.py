"""What a recording may cost, in a user's words: `500MB` of disk, `20%` of the run's time."""

from __future__ import annotations

import re
from dataclasses import dataclass

TENSORS = 2 * 10**9  # bytes of tensors in one recording, unless somebody says otherwise
LEAST_SIZE = 1_000_000  # bytes; the tables of an empty recording take a tenth of this
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]i?)?b?", re.IGNORECASE | re.ASCII)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes that the file may have, and the most time that recording may add, as a share of the run's."""

    size: int | None = None
    overhead: float | None = None

    @classmethod
    def parse(cls, size: str | None, overhead: str | None) -> Limits:
        """Read `500MB` and `20%`. Raises ValueError with a sentence."""
        return cls(None if size is None else _least(size), None if overhead is None else _share(overhead))


def parse_size(text: str) -> int:
    """Bytes, from `500MB`, `2GB`, `64MiB` or a number alone. Raises ValueError with a sentence."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size such as 500MB, 2GB or 64MiB")
    unit = (found[2] or "").lower()
    return int(float(found[1]) * {**_UNITS, **_BINARY_UNITS}[unit])


def _least(text: str) -> int:
    size = parse_size(text)
    if size < LEAST_SIZE:
        raise ValueError(f"{text!r} is less than 1MB, in which no recording fits")
    return size


def _share(text: str) -> float:
    found = _SHARE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise ValueError(f"{text!r} is not a share above zero such as 20%")
    return float(found[1]) / 100
