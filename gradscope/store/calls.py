"""Reads how a recording saw custom Functions called: the arguments' kinds, never their data.

Capture keeps them in the table `function_call (function TEXT, arguments TEXT)`; `arguments` is a JSON list with an
object an argument: {"dtype", "shape", "strides", "requires_grad"} for a tensor, {"value"} for plain data, else {}.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from gradscope.errors import UnreadableError
from gradscope.model.call import RecordedArgument, RecordedCall
from gradscope.store.file import damage_is_one_sentence, open_file
from gradscope.store.rows import TEXT, Rows

_CALLS = "SELECT function, arguments FROM function_call"

DTYPES = frozenset(
    (
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
    )
)
LARGEST = 1 << 28  # elements: a damaged recording shall not ask for more


class NoCallError(UnreadableError):
    """The recording saw no call of the Function that was asked for."""


def read_calls(path: Path, function: str) -> list[RecordedCall]:
    """The recorded calls of a Function, found by its qualified name, else by its last part (a script is __main__)."""
    wanted = function.replace(":", ".")
    last = wanted.rpartition(".")[2]
    with closing(open_file(path)) as opened, damage_is_one_sentence(path):
        rows = list(Rows(opened.connection).select(_CALLS, (TEXT, TEXT)))
    exact = [row for row in rows if row[0] == wanted]
    found = exact or [row for row in rows if row[0].rpartition(".")[2] == last]
    if not found:
        raise NoCallError(f"{path} holds no call of {function}", "trace a program that calls it")
    return [RecordedCall(name, arguments_of(text, path)) for name, text in found]


def read_all_calls(rows: Rows, path: Path) -> tuple[RecordedCall, ...]:
    """The recorded calls of all Functions; `path` is what a damaged one is blamed on."""
    return tuple(RecordedCall(name, arguments_of(text, path)) for name, text in rows.select(_CALLS, (TEXT, TEXT)))


def arguments_of(text: Any, path: Path) -> tuple[RecordedArgument, ...]:
    """The arguments of one call; every value is checked, because a recording is untrusted."""
    try:
        return tuple(argument_of(item) for item in json.loads(text))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UnreadableError(f"{path} holds a damaged call: {error}") from None


def argument_of(item: dict[str, Any]) -> RecordedArgument:
    """One argument."""
    if "dtype" not in item:
        return RecordedArgument(value=frozen(item.get("value")), known="value" in item)
    shape = tuple(int(size) for size in item["shape"])
    strides = tuple(int(step) for step in item["strides"]) if item.get("strides") else None
    reach = sum((size - 1) * step for size, step in zip(shape, strides or (), strict=False))
    if item["dtype"] not in DTYPES or min((*shape, *(strides or ())), default=0) < 0 or max(reach, *shape, 0) > LARGEST:
        raise ValueError(f"no tensor can be {item}")
    return RecordedArgument(item["dtype"], shape, strides, bool(item.get("requires_grad")))


def frozen(value: Any) -> Any:
    """A JSON value with tuples for lists, so that calls can be compared and counted."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value
