"""Reads what was seen of custom Functions while they ran."""

from __future__ import annotations

from gradscope.model.function_fault import CapturedTensor, InputEdit, OnContext
from gradscope.model.graph import FunctionClass
from gradscope.store.in_graphs import in_graphs
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, Rows


def read_functions(rows: Rows, interned: Interned) -> tuple[FunctionClass, ...]:
    """All custom Functions that were seen, in the order of their first calls."""
    found = (interned.function(number) for (number,) in rows.select("SELECT id FROM function ORDER BY id", (INTEGER,)))
    return tuple(function for function in found if function is not None)


def read_failing_functions(rows: Rows, interned: Interned) -> tuple[FunctionClass, ...]:
    """The Functions out of whose apply an uncaught exception came, in order."""
    found = rows.select("SELECT function FROM failing_function ORDER BY rowid", (INTEGER,))
    functions = (interned.function(number) for (number,) in found)
    return tuple(function for function in functions if function is not None)


def read_input_edits(rows: Rows, interned: Interned) -> tuple[InputEdit, ...]:
    """The writes to inputs in the forward of Functions."""
    found = []
    for number, op, stack in rows.select("SELECT function, op, stack FROM input_edit", (INTEGER,) * 3):
        function = interned.function(number)
        if function is not None:
            found.append(InputEdit(function, interned.string(op), interned.stack(stack)))
    return tuple(found)


def read_captured_tensors(rows: Rows, interned: Interned) -> tuple[CapturedTensor, ...]:
    """What the forward of Functions read of tensors that torch.func differentiated, besides their arguments."""
    found = []
    for number, name, stack in rows.select("SELECT function, name, stack FROM captured", (INTEGER,) * 3):
        function = interned.function(number)
        if function is not None:
            found.append(CapturedTensor(function, interned.string(name), interned.stack(stack)))
    return tuple(found)


def read_on_context(rows: Rows, interned: Interned) -> tuple[OnContext, ...]:
    """The tensors that Functions held on their ctx, by backward call and node."""
    sql = "SELECT backward, node, name FROM on_context ORDER BY backward, node, name"
    return tuple(OnContext(backward, node, interned.string(name)) for backward, node, name in in_graphs(rows, sql, 3))
