"""A bias of plain tensors that each rank adds to its part of a product, as a model that only serves has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.gradients.doubled import SUMS, sum_on
from gradscope.ranks.source.deciding import asks_for_rank, origin, takes_part
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.store.reader import Recording

_PRODUCTS = ("addmm", "addmv")  # the bias comes first
_CALLS = {"linear": ((1, "weight"), (2, "bias")), "addmm": ((2, "mat2"), (0, "input"))}

Added = tuple[Site, str, str, Site]  # the line that adds, what the weight and the bias are called, the line that sums


def plain_sums(recording: Recording) -> Iterator[Added]:
    """Each sum over ranks of a product to which a bias was added, and nothing else was done, of a weight that goes back
    to a part by the rank, and a bias that does not."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    known: dict[int, Stack] = {}  # by storage
    for one in recording.flow():
        if one.backward is not None:
            continue
        read = [tensors[each.tensor] for each in one.reads if each.tensor in tensors]
        made = {tensors[each].storage for each in one.makes if each in tensors}
        own = {each.storage for each in read}
        if one.operation.name.startswith(SUMS):
            for stack in [known.pop(storage) for storage in own if storage in known]:
                found = None if one.site is None else _called(recording, stack, one.site)
                if found is not None:
                    yield found
            continue
        if one.operation.writes or not made.issubset(own):  # else it is a view
            for storage in made | own:
                known.pop(storage, None)
        adds = base_name(one.operation.name) in _PRODUCTS and read and len(read[0].type.shape) == 1
        if adds and not any(each.parameter for each in read):
            known.update(dict.fromkeys(made, one.operation.stack))


def _called(recording: Recording, stack: Stack, summed: Site) -> Added | None:
    """The line of a product whose weight is a part of a rank's own, and whose bias is not, as the source tells."""
    frames = frames_of(recording, stack)
    around = function_around(tree_of(recording, summed), summed.line)
    if not frames or around is None or sum_on(around, summed.line) is None:
        return None
    for call in (one for one in ast.walk(frames[0].function) if isinstance(one, ast.Call)):
        if called_name(call) in _CALLS and call.lineno <= frames[0].site.line <= (call.end_lineno or 0):
            weight, bias = (_given(call, *place) for place in _CALLS[called_name(call)])
            in_parts = weight is not None and origin(recording, frames, weight, takes_part) is not None
            if weight is None or bias is None or not in_parts:
                return None
            is_other = origin(recording, frames, bias, _is_other) is not None
            return None if is_other else (frames[0].site, ast.unparse(weight), ast.unparse(bias), summed)
    return None


def _is_other(value: ast.expr) -> bool:
    """Whether a bias may be one of one rank alone, or a share of one."""
    return asks_for_rank(value) or any(isinstance(one, ast.Div) for one in ast.walk(value))


def _given(call: ast.Call, place: int, name: str) -> ast.expr | None:
    by_name = next((one.value for one in call.keywords if one.arg == name), None)
    return by_name or (call.args[place] if place < len(call.args) else None)
