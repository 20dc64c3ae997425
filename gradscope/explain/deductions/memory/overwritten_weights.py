"""Finds weights that are overwritten between two steps, evaluated as they are then, and trained on from there."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.block_calls import Stretch, stretches
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizer_frames import runs_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.flow import GradientState
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Stack
from gradscope.model.training import ASSIGN

_COPIES = ("copy_", "_foreach_copy_")
_REPLACES = ("swap_tensors", "vector_to_parameters")
_Place = tuple[int, int]  # a block, and a storage in it


@dataclass(frozen=True, slots=True)
class Overwriting:
    """The last copy into a model's weights, and an operator of the forward without gradients that follows it.

    `times` counts the stretches in which the two come and a forward with gradients goes on from there. Not `known`:
    as many tensors are overwritten as an optimizer has, and what they are does not show.
    """

    copy: Operation
    evaluation: Operation
    known: bool
    times: int


def overwritings(case: Case) -> Iterator[Overwriting]:
    """One for each line that copies, where all that an optimizer trains is overwritten."""
    trained = list(_trained(case))
    named = frozenset(name for names in trained for name in names)
    known: dict[tuple[int, ...], _Written | None] = {}
    found: dict[Stack, list[_Written]] = defaultdict(list)
    for stretch in stretches(case) if trained else ():
        key = tuple(id(block.operations) for block in stretch.blocks)
        if key not in known:
            known[key] = _left(stretch, named, trained)
        written = known[key]
        if written is not None and not any(call.kind is ASSIGN for call in stretch.calls):
            found[written.copy.stack].append(written)
    for ones in found.values():
        yield Overwriting(ones[0].copy, ones[0].evaluation, ones[0].known, len(ones))


def _trained(case: Case) -> Iterator[frozenset[str]]:
    """The names of what each optimizer trains."""
    for look in {look.optimizer: look for look in case.optimizer_looks()}.values():
        names = frozenset(one.name for one in look.parameters if one.state is not GradientState.FROZEN)
        if names:
            yield names


@dataclass(frozen=True, slots=True)
class _Written:
    copy: Operation
    evaluation: Operation
    known: bool


def _left(stretch: Stretch, named: frozenset[str], trained: list[frozenset[str]]) -> _Written | None:
    """What is copied into weights and evaluated, and still there in the forward of the training."""
    copies: dict[str, Operation] = {}
    unnamed: dict[Stack, list[Operation]] = defaultdict(list)
    places: set[_Place] = set()
    evaluation: Operation | None = None
    for number, operation in ((block.number, one) for block in stretch.blocks for one in block.operations):
        copying = base_name(operation.name) in _COPIES and operation.module is None and not runs_optimizer(operation)
        leaves = {one.leaf for one in operation.writes if one.leaf} & named
        if copying or leaves:
            written = {(number, one.storage) for one in operation.writes}
            if evaluation is not None and not leaves and _are_others(written, places):
                continue
            if evaluation is not None or (leaves and not copying):
                copies, unnamed, places, evaluation = {}, defaultdict(list), set(), None
            places |= written
            copies.update(dict.fromkeys(leaves, operation))
            if copying and not leaves:
                unnamed[operation.stack].extend([operation] * len(operation.writes))
        elif operation.module is not None and (copies or unnamed):
            if operation.grad:
                return None if evaluation is None else _whole(copies, unnamed, evaluation, trained)
            evaluation = evaluation or operation
    return None


def _are_others(written: set[_Place], places: set[_Place]) -> bool:
    """Whether what a copy writes is none of what copies had written before: a state that is kept, and not put back.

    Storages are numbered in a block, so that only those of one block can be told apart.
    """
    return bool(written) and written.isdisjoint(places) and len({number for number, _ in written | places}) == 1


def _whole(
    copies: dict[str, Operation],
    unnamed: dict[Stack, list[Operation]],
    evaluation: Operation,
    trained: list[frozenset[str]],
) -> _Written | None:
    """All of an optimizer's weights, by name or, where they are written through `.data`, by number."""
    if any(names <= copies.keys() for names in trained):
        return _Written(list(copies.values())[-1], evaluation, True)
    found = (ones[-1] for ones in unnamed.values() if any(len(names) <= len(ones) for names in trained))
    return next((_Written(one, evaluation, False) for one in found), None)


def is_memory_replaced(case: Case) -> bool:
    """Whether the program gives parameters other memory, which is no operator: that may put weights back."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Assign) and any(_is_data(one) for one in node.targets):
                return True
            if isinstance(node, ast.Call) and called_name(node) in _REPLACES:
                return True
    return False


def _is_data(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == "data"
