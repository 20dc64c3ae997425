"""What a recording may take, as a user writes it: steps, sizes, shares of time."""

from __future__ import annotations

from gradscope.errors import UsageError
from gradscope.model.limits import TENSORS, Limits, parse_size
from gradscope.model.window import Window


def window(steps: str | None, keep_last: int | None) -> Window:
    """The steps to record, as a user writes them. Raises UsageError."""
    if keep_last is not None and keep_last < 1:
        raise UsageError("--keep-last takes a whole number from 1 on", "it keeps the last N steps")
    try:
        return Window.parse(steps, keep_last)
    except ValueError as error:
        raise UsageError(str(error), "--steps 10:20 records the steps 10 to 19; a step ends with a backward") from None


def limits(size: str | None, overhead: str | None) -> Limits:
    """What the recording may cost, as a user writes it. Raises UsageError."""
    try:
        return Limits.parse(size, overhead)
    except ValueError as error:
        raise UsageError(str(error), "--max-size 500MB bounds the file, --max-overhead 20% the time") from None


def tensor_limit(size: int | str | None) -> int:
    """Bytes of tensors, as a user writes them; None for the usual limit. Raises UsageError."""
    if size is None:
        return TENSORS
    try:
        return parse_size(str(size))
    except ValueError as error:
        raise UsageError(str(error), "--tensors-limit 500MB bounds the tensors that are stored") from None
