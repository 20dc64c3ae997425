"""Reads the way of tensors through operators, and what was seen of optimizers and of nodes that outlived their step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.model.flow import (
    FlowEnd,
    FlowOperation,
    FlowTensor,
    GradientState,
    HeldParameter,
    Holder,
    LeafGradient,
    OptimizerLook,
    Read,
    Survivors,
)
from gradscope.model.tensor import TensorType
from gradscope.store.interned import Interned
from gradscope.store.operation_reader import read_blocks
from gradscope.store.rows import INTEGER, MAYBE, Rows

_READ, _MADE = 0, 1
_LEAF = 2  # requires_grad of a leaf
Touched = tuple[int, int, tuple[Read, ...], tuple[int, ...]]  # an operator, what it read, and made


def read_flow(rows: Rows, interned: Interned) -> Iterator[FlowOperation]:
    """The operators whose tensors were looked at, in the order of their blocks."""
    found = read_blocks(rows, interned, "SELECT DISTINCT block_run FROM flow")
    blocks = {block.number: block for block in found}  # steps alike share operators
    for run, position, reads, makes in _touched(rows):
        block = blocks.get(run)
        if block is not None:  # else the run was killed before it wrote that
            if not 0 <= position < len(block.operations):
                raise ValueError("a tensor was read by an operator that is not there")
            yield FlowOperation(run, position, block.operations[position], block.backward, reads, makes)


def _touched(rows: Rows) -> Iterator[Touched]:
    """What operators read and made: the rows of each follow one another."""
    known: dict[tuple[int, int], Read] = {}  # what is read twice is told by one object
    at, reads, makes = (-1, -1), list[Read](), list[int]()
    sql = "SELECT block_run, operation, side, tensor, requires_grad FROM flow ORDER BY block_run, position"
    for run, operation, side, tensor, requires in rows.all(sql, (INTEGER,) * 5):
        if at != (run, operation):
            if reads or makes:
                yield *at, tuple(reads), tuple(makes)
                reads.clear()
                makes.clear()
            at = run, operation
        if side == _MADE:
            makes.append(tensor)
        elif side == _READ:
            read = known.get((tensor, requires))
            if read is None:
                read = known[tensor, requires] = Read(tensor, bool(requires), requires == _LEAF)
            reads.append(read)
    if reads or makes:
        yield *at, tuple(reads), tuple(makes)


def read_tensors(rows: Rows, interned: Interned) -> Iterator[FlowTensor]:
    """The tensors that operators read or made."""
    types: dict[int, TensorType] = {}  # of which there are few
    sql = "SELECT number, storage, type, name, parameter FROM flow_tensor ORDER BY number"
    for number, storage, kind, name, parameter in rows.all(sql, (INTEGER,) * 5):
        known = types.get(kind) or types.setdefault(kind, interned.type(kind))
        yield FlowTensor(number, storage, known, interned.string(name) if name else None, bool(parameter))


def read_ends(rows: Rows) -> Iterator[FlowEnd]:
    """The tensors that backward calls started from and were asked for."""
    sql = "SELECT backward, side, position, tensor, requires_grad FROM flow_end ORDER BY backward, side, position"
    for backward, side, position, tensor, requires in rows.select(sql, (INTEGER,) * 5):
        yield FlowEnd(backward, bool(side), position, tensor, bool(requires), requires == _LEAF)


def read_looks(rows: Rows, interned: Interned) -> Iterator[OptimizerLook]:
    """The looks at optimizers, in order."""
    held: dict[int, list[HeldParameter]] = defaultdict(list)
    sql = "SELECT look, name, tensor, state FROM optimizer_parameter ORDER BY look, position"
    for look, name, tensor, state in rows.select(sql, (INTEGER,) * 4):
        held[look].append(HeldParameter(interned.string(name), tensor, GradientState(state)))
    sql = "SELECT number, optimizer, name, count, backward, stack FROM optimizer_step ORDER BY number"
    columns = (*(INTEGER,) * 4, INTEGER | MAYBE, INTEGER)
    for number, optimizer, name, count, backward, stack in rows.select(sql, columns):
        parameters = tuple(held.get(number, ()))
        yield OptimizerLook(optimizer, interned.string(name), count, backward, interned.stack(stack), parameters)


def read_leaf_gradients(rows: Rows) -> Iterator[LeafGradient]:
    """The gradients that leaves held when a backward started."""
    sql = "SELECT backward, node, tensor, state FROM leaf_gradient ORDER BY backward, node"
    for backward, node, tensor, state in rows.select(sql, (INTEGER,) * 4):
        yield LeafGradient(backward, node, tensor, GradientState(state))


def read_survivors(rows: Rows, interned: Interned) -> Iterator[Survivors]:
    """The nodes that outlived their step, at every look."""
    sql = "SELECT step, made, stack, count, youngest FROM survivor ORDER BY step, made, stack"
    for step, made, stack, count, youngest in rows.select(sql, (INTEGER,) * 5):
        yield Survivors(step, made, interned.stack(stack), count, youngest)


def read_holders(rows: Rows, interned: Interned) -> Iterator[Holder]:
    """What holds tensors that such nodes made."""
    sql = "SELECT stack, count, kind, name, owner FROM holder ORDER BY stack, kind, name, owner"
    for stack, count, *words in rows.select(sql, (INTEGER,) * 5):
        kind, name, owner = map(interned.string, words)
        yield Holder(interned.stack(stack), kind, name, owner, count)
