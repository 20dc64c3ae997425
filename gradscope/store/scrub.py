"""Copies a recording without what its owner may not want to share: sources, paths, arguments, environment, values.

The copy is a new database, so that nothing of the old one's pages can be left in it. Columns are taken one by one:
numbers as they are, text by the rules below, and text that no rule names as a message that may say anything.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from gradscope.errors import UnreadableError, UsageError
from gradscope.model.printable import printable
from gradscope.store.file import RECORD_AGAIN, TABLE_NAMES, damage_is_one_sentence, show
from gradscope.store.output import Output
from gradscope.store.redactor import Redactor
from gradscope.store.run_reader import RUN_FIELDS

Row = tuple[object, ...]
REMOVED = frozenset({"source", "storage", "tensor", "dispatch", "condition", "exchange"})  # sources, and --tensors
# Columns whose text gradscope made, of numbers, flags and words of its own.
OWN = {("tensor_type", "shape"), ("backward", "roots"), ("backward", "inputs")}
OWN |= {("backward", "kind"), ("hook", "kind"), ("transform", "kind"), ("block_run", "versions"), ("fault", "probe")}
OWN |= {("process_group", "members"), ("collective", "types")}
OWN |= {("birth", "kind"), ("nonfinite", "place"), ("notice", "what")}
OWN |= {
    ("leaf_size", "gradient"),
    ("leaf_size", "weight"),
    ("buffer_size", "norm"),
    ("node_size", "size"),
    ("learning_rate", "value"),
    ("loss", "value"),
    ("scale", "value"),
}
OWN |= {
    ("compiled_capture", "sizes"),
    ("compiled_run", "sizes"),
    ("compiled_step", "inputs"),
    ("compiled_step", "kind"),
}
OWN |= {("joint_node", "inputs"), ("joint_node", "uses"), ("joint_partition", "saved"), ("joint_step", "inputs")}
# Columns of packed numbers.
PACKED = {("layout", "entered"), ("layout", "ran"), ("layout", "gradients")}
PACKED |= {("measurement", "times"), ("measurement", "statistics")}
_OWN_TEXT = re.compile(r"[\w\[\], .-]*")
_KEPT_OF_THE_RUN = frozenset(RUN_FIELDS) - {"argv", "cwd", "environment"}
_OF_AN_ARGUMENT = ("dtype", "shape", "strides", "requires_grad")
_OF_A_RESULT = ("shape", "index", "nan", "inf", "device")
_BATCH = 1000  # rows


def scrub(source: sqlite3.Connection, path: Path, output: Path) -> None:
    """Write a copy of the recording at `path`, which is open as `source`.

    Raises UnreadableError when it is damaged, UsageError when the copy cannot be written.
    """
    with damage_is_one_sentence(path):
        redactor = Redactor(source)
    target = Output(output, output)
    whole = False
    try:
        for table in sorted(TABLE_NAMES - REMOVED):
            rows = _cleaned(source, table, redactor)
            while batch := _next(rows, path):
                target.write({table: batch}, set())
        target.commit()
        whole = True
    except sqlite3.IntegrityError as error:  # a value where none may be, or two where one may
        raise UnreadableError(f"{show(path)} is damaged: {printable(str(error))}", RECORD_AGAIN) from error
    except (sqlite3.Error, OSError) as error:
        raise UsageError(f"{printable(str(output))} cannot be written: {error}") from error
    finally:
        target.close(pruned=False, last_words={})
        if not whole:
            output.unlink(missing_ok=True)


def _next(rows: Iterator[Row], path: Path) -> list[Row]:
    """The next rows: what goes wrong here is the source's fault."""
    with damage_is_one_sentence(path):
        return list(islice(rows, _BATCH))


def _cleaned(source: sqlite3.Connection, table: str, redactor: Redactor) -> Iterator[Row]:
    columns = [str(column[1]) for column in source.execute(f"PRAGMA table_info({table})")]
    rows: Iterable[tuple[Any, ...]] = source.execute(f"SELECT {', '.join(columns)} FROM {table}")
    if table in SPECIAL:
        yield from SPECIAL[table](rows, redactor)
        return
    places = [(table, column) for column in columns]
    for row in rows:
        yield tuple(_value(value, place, redactor) for value, place in zip(row, places, strict=True))


def _value(value: object, place: tuple[str, str], redactor: Redactor) -> object:
    of_ours = place in OWN or place in PACKED
    if isinstance(value, bytes) and not of_ours:
        raise ValueError("raw data where a recording has none")
    if not isinstance(value, str) or (of_ours and _OWN_TEXT.fullmatch(value)):
        return value
    if place in EMPTIED:
        value = EMPTIED[place](value)
    return redactor.message(value)


def _strings(rows: Iterable[tuple[Any, ...]], redactor: Redactor) -> Iterator[Row]:
    return ((number, redactor.string(number, str(text))) for number, text in rows)


def _run(rows: Iterable[tuple[Any, ...]], redactor: Redactor) -> Iterator[Row]:
    instead: dict[str, object] = {"argv": [redactor.program()], "cwd": "", "environment": {}}
    for name, text in rows:
        value = json.loads(text)
        if name in _KEPT_OF_THE_RUN:
            yield name, json.dumps(redactor.message(value) if isinstance(value, str) else value)
        elif name in instead:
            yield name, json.dumps(instead[name])


def _function_calls(rows: Iterable[tuple[Any, ...]], redactor: Redactor) -> Iterator[Row]:
    for function, arguments in rows:
        yield redactor.text(str(function)), json.dumps([_argument(one) for one in json.loads(arguments)])


def _argument(argument: Any) -> dict[str, Any]:
    """What is known of an argument, without texts: these are the user's data."""
    if not isinstance(argument, dict):
        raise ValueError("an argument of a call has no form")
    if "dtype" in argument:
        return {name: argument[name] for name in _OF_AN_ARGUMENT if name in argument}
    plain = "value" in argument and isinstance(argument["value"], (int, float, type(None)))
    return {"value": argument["value"]} if plain else {}


def _evidence(text: str) -> str:
    """What an operator was given and gave, without the values of tensors, but for those that are not finite."""
    told = _object(json.loads(text))
    given = _object(told["result"])
    result = {name: given[name] for name in _OF_A_RESULT if name in given} | _if_not_finite(given, "value")
    return json.dumps({"result": result, "arguments": [_given(_object(one)) for one in told["arguments"]]})


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("an object was expected")
    return value


def _given(told: dict[str, Any]) -> dict[str, Any]:
    """An argument: a number of the program's is kept as it is, as those given to a custom Function are."""
    if "shape" not in told:
        return {name: told[name] for name in ("name", "value") if name in told}
    given = {name: told[name] for name in ("name", "shape", "dtype") if name in told}
    return given | _if_not_finite(told, "value") | _if_not_finite(told, "row") | _if_not_finite(told, "least", "most")


def _if_not_finite(told: dict[str, Any], *names: str) -> dict[str, Any]:
    """What is told under these names if none of it is a number that says something about the data."""
    values = [
        value for name in names for value in (told[name] if isinstance(told.get(name), list) else [told.get(name)])
    ]
    return {name: told[name] for name in names} if all(map(_is_not_finite, values)) else {}


def _is_not_finite(value: Any) -> bool:
    return value in ("nan", "inf", "-inf")


# Columns of JSON that are taken apart, and put together again without what is the user's.
EMPTIED: dict[tuple[str, str], Callable[[str], str]] = {("birth", "evidence"): _evidence}

# Tables whose rows need more than a look at each value.
SPECIAL: dict[str, Callable[[Iterable[tuple[Any, ...]], Redactor], Iterator[Row]]] = {
    "run": _run,
    "string": _strings,
    "function_call": _function_calls,
}
