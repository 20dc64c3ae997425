"""What compiled autograd captured and ran, written and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gradscope.model.compiled import Captured, CompiledKind, CompiledRun, CompiledSize, CompiledStep
from gradscope.store.interned import Interned
from gradscope.store.joint_tables import stack_number
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows, integers

if TYPE_CHECKING:  # who reads does not need it
    from gradscope.store.writer import Writer


def write_compiled(writer: Writer, found: Captured | CompiledRun) -> None:
    """Add a capture, or a run."""
    if isinstance(found, Captured):
        write_captured(writer, found)
    else:
        write_compiled_run(writer, found)


def write_captured(writer: Writer, captured: Captured) -> None:
    """Add a capture."""
    sizes = json.dumps([[size.value, int(size.used)] for size in captured.sizes])
    stack = stack_number(writer, captured.stack)
    writer.add("compiled_capture", (captured.number, writer.string(captured.reason), stack, sizes, captured.backward))
    for step in captured.steps:
        texts = (writer.string(text) if text else 0 for text in (step.hook, step.label))
        writer.add(
            "compiled_step",
            (
                captured.number,
                step.position,
                step.kind.value,
                writer.string(step.op),
                writer.string(step.node) if step.node else 0,
                step.node_call,
                *texts,
                stack_number(writer, step.stack),
                json.dumps(step.inputs),
            ),
        )


def write_compiled_run(writer: Writer, run: CompiledRun) -> None:
    """Add a run."""
    row = (run.captured, int(run.hit), stack_number(writer, run.stack), run.backward, json.dumps(run.sizes))
    writer.add("compiled_run", row)


def read_captured(rows: Rows, interned: Interned) -> tuple[Captured, ...]:
    """Every capture, in order."""
    sql = "SELECT number, reason, stack, sizes, backward FROM compiled_capture ORDER BY number"
    found = list(rows.select(sql, (INTEGER, INTEGER, INTEGER, TEXT, INTEGER | MAYBE)))
    return tuple(
        Captured(
            number,
            interned.string(reason),
            interned.stack(stack),
            _steps(rows, interned, number),
            _sizes(sizes),
            backward,
        )
        for number, reason, stack, sizes, backward in found
    )


def read_compiled_runs(rows: Rows, interned: Interned) -> tuple[CompiledRun, ...]:
    """Every run, in order."""
    sql = "SELECT capture, hit, stack, backward, sizes FROM compiled_run ORDER BY rowid"
    known = {number for (number,) in rows.select("SELECT number FROM compiled_capture", (INTEGER,))}
    found = []
    for number, hit, stack, backward, sizes in rows.select(sql, (*(INTEGER,) * 3, INTEGER | MAYBE, TEXT)):
        if number not in known:
            raise ValueError("a run names a capture that is not there")
        found.append(CompiledRun(number, bool(hit), interned.stack(stack), backward, integers(sizes)))
    return tuple(found)


def _steps(rows: Rows, interned: Interned, capture: int) -> tuple[CompiledStep, ...]:
    sql = """SELECT position, kind, op, node, node_call, hook, label, stack, inputs FROM compiled_step
      WHERE capture = ? ORDER BY position"""
    columns = (INTEGER, TEXT, INTEGER, INTEGER, INTEGER | MAYBE, INTEGER, INTEGER, INTEGER, TEXT)
    found: list[CompiledStep] = []
    for position, kind, op, node, call, hook, label, stack, inputs in rows.select(sql, columns, capture):
        before = integers(inputs)
        if position != len(found) or not all(0 <= one < position for one in before):
            raise ValueError("the steps of a capture are not in order")
        found.append(
            CompiledStep(
                position,
                CompiledKind(kind),
                interned.string(op),
                interned.name(node) or "",
                call,
                interned.name(hook) or "",
                interned.name(label) or "",
                interned.stack(stack),
                before,
            )
        )
    return tuple(found)


def _sizes(text: str) -> tuple[CompiledSize, ...]:
    values = json.loads(text)
    if not isinstance(values, list) or not all(isinstance(one, list) and len(one) == 2 for one in values):
        raise ValueError("a list of sizes was expected")
    if not all(type(number) is int for one in values for number in one):
        raise ValueError("a size is no integer")
    return tuple(CompiledSize(value, bool(used)) for value, used in values)
