"""What `--tensors` stored, read back without torch, and refused when it is damaged."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gradscope.errors import UnreadableError
from gradscope.model.dispatch import Constant, Dispatch, Exchange, Phase, Place, StoredBackward, Zeros
from gradscope.model.tensor import StoredTensor, TensorRole, TensorType
from gradscope.store.reader import load
from tests import by_hand
from tests.recordings import Writer, write_backward, write_graph

TENSOR = {"tensor": 3, "offset": 1, "shape": [2], "strides": [1], "dtype": "float32", "device": "cpu", "digest": "ab"}
PLACE = Place(3, 1, TensorType((2,), "float32"), (1,), digest="ab")
KINDS: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (2.5, 2.5),
    ("mean", "mean"),
    ([1, [2]], (1, (2,))),
    ({"float": "-inf"}, float("-inf")),
    ({"complex": [1, 2.5]}, 1 + 2.5j),
    ({"dtype": "float64"}, Constant("dtype", "float64")),
    ({"memory_format": "contiguous_format"}, Constant("memory_format", "contiguous_format")),
    ({"zeros": [2, 1], "dtype": "float32", "device": "cpu"}, Zeros(TensorType((2, 1), "float32"))),
    ({**TENSOR, "conj": True}, Place(3, 1, TensorType((2,), "float32"), (1,), conj=True, digest="ab")),
]


def recording(path: Path) -> Path:
    writer = Writer(path)
    graph = by_hand.small()
    write_graph(writer, 1, graph)
    write_backward(writer, 1, graph)
    writer.insert("storage", 0, 3, b"\x00" * 12)
    writer.insert("tensor", 0, 1, 2, 0, writer.type(TensorType((2,), "float32")), 3)
    arguments = json.dumps([[value for value, _ in KINDS], {"beta": 1}])
    writer.insert("dispatch", 0, 0, 2, 1, writer.string("aten.neg.default"), arguments, None, json.dumps(TENSOR))
    writer.insert("dispatch", 0, 1, None, 0, writer.string("aten.sparse.default"), None, None, None)
    writer.insert("exchange", 0, 0, 2, json.dumps([TENSOR, None]), json.dumps([]))
    writer.insert("condition", 0, "threads", "2")
    return writer.close()


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    with load(recording(tmp_path / "a.gscope")) as opened:
        found = opened.stored(0)
        assert opened.stored(7) == StoredBackward()
    arguments = tuple(expected for _, expected in KINDS)
    assert found == StoredBackward(
        {3: b"\x00" * 12},
        (StoredTensor(TensorRole.SAVED, 2, 0, TensorType((2,), "float32"), 3),),
        (
            Dispatch(0, 2, Phase.INSIDE, "aten.neg.default", arguments, {"beta": 1}, None, PLACE),
            Dispatch(1, None, Phase.BEFORE, "aten.sparse.default", None, None, None, None),
        ),
        (Exchange(2, (PLACE, None), ()),),
        {"threads": 2},
    )


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE dispatch SET arguments = 'x'",
        "UPDATE dispatch SET arguments = '[]'",
        'UPDATE dispatch SET arguments = \'[[{"code": "x"}], {}]\'',
        "UPDATE dispatch SET phase = 9",
        "UPDATE dispatch SET node = 99",
        "UPDATE dispatch SET operator = 999",
        "UPDATE dispatch SET results = '{\"tensor\": -1}'",
        "UPDATE dispatch SET results = replace(results, '[2]', '[-2]')",
        "UPDATE dispatch SET results = replace(results, '\"ab\"', '5')",
        "UPDATE dispatch SET results = replace(results, '\"cpu\"', '5')",
        "UPDATE exchange SET received = '[5]'",
        "UPDATE exchange SET node = -1",
        "UPDATE condition SET value = 'oops'",
        "UPDATE condition SET value = '\"two\"'",
        "UPDATE storage SET bytes = 'text'",
        "UPDATE tensor SET role = 7",
    ],
)
def test_damage_is_one_sentence(damage: str, tmp_path: Path) -> None:
    path = recording(tmp_path / "a.gscope")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    with load(path) as opened, pytest.raises(UnreadableError, match="is damaged"):
        opened.stored(0)
