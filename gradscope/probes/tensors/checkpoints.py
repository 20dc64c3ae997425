"""Reads what torch's non-reentrant checkpoints keep for a backward: their inputs, and what they will compute again.

The surprise: below such a checkpoint a node holds a token where it would save a tensor, and what the token belongs to
is only to be found through the function that unpacks it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.probes.tensors.saved_results import arguments_of, is_result
from gradscope.signals import attribute
from gradscope.torch_internals.find import bound

_FRAME: Any = bound("torch.utils.checkpoint._CheckpointFrame")
_PRESERVE = "preserve_rng_state"
_TURNED = frozenset(f"{name}Backward" for name in ("T", "Transpose", "Permute"))  # views with the same sizes
_VIEWS = _TURNED | frozenset(
    f"{name}Backward"
    for name in ("AsStrided", "Expand", "ReshapeAlias", "Select", "Slice", "Split", "Squeeze", "UnsafeView", "View")
)
Look = tuple[list[int], torch.dtype]  # sizes, in whatever order


@dataclass(slots=True)
class Checkpoint:
    """One checkpoint in a graph: `last` is the node that the engine comes to last, `again` bytes by node.

    `repeats_chance`: the random numbers of the forward are drawn again, as they were.
    """

    last: int
    inputs: list[torch.Tensor]
    repeats_chance: bool = True
    again: dict[int, int] = field(default_factory=dict)


Packed = tuple[int, str, Any]  # a node's number, and one of torch's SavedTensors in it that holds no tensor, by name


def checkpoints(live: list[Any], packed: Iterable[Packed]) -> list[Checkpoint]:
    """The checkpoints of a graph."""
    frames: dict[int, tuple[Any, dict[int, list[tuple[str, Any]]]]] = {}
    for number, name, saved in packed:
        frame = _frame_of(attribute(saved, "unpack_hook"))
        if frame is not None:
            frames.setdefault(id(frame), (frame, {}))[1].setdefault(number, []).append((name, saved.data))
    return [_checkpoint(live, frame, tokens) for frame, tokens in frames.values()]


def _frame_of(hook: Any) -> Any:
    for cell in attribute(hook, "__closure__") or ():
        if _FRAME and type(cell.cell_contents) is _FRAME:
            return cell.cell_contents
    return None


def _checkpoint(live: list[Any], frame: Any, tokens: dict[int, list[tuple[str, Any]]]) -> Checkpoint:
    last = min(tokens, key=lambda number: live[number]._sequence_nr())
    found = Checkpoint(last, list(_inputs(frame)), _repeats_chance(frame))
    given = {id(tensor.grad_fn): _look(tensor) for tensor in found.inputs if tensor.grad_fn is not None}
    data = [_look(tensor) for tensor in found.inputs if not tensor.requires_grad]
    looks = _looks(frame, tokens)
    results: dict[Any, list[Look]] = {}  # what is counted where it is made
    for number in tokens:
        results[live[number]] = [look for name, look in looks[number] if _is_made(live[number], name)]
    for number in tokens:
        there: list[Look | None] = [*data]
        for one, cut in _before(live[number]):
            made = _looks_of(one, given, results)
            there += [None] if cut and made else made
        arguments = [look for name, look in looks[number] if not _is_made(live[number], name)]
        for known in (True, False):  # a view may be any: what is there as it is goes first
            arguments = [look for look in arguments if not _take(there, look if known else None)]
        again = results[live[number]] + arguments
        found.again[number] = sum(math.prod(sizes) * dtype.itemsize for sizes, dtype in again)
    return found


def _repeats_chance(frame: Any) -> bool:
    """What the checkpoint was given as preserve_rng_state; True where torch keeps it elsewhere."""
    again = attribute(frame, "recompute_fn")
    names = attribute(attribute(again, "__code__"), "co_freevars") or ()
    cells = dict(zip(names, attribute(again, "__closure__") or (), strict=False))
    return _PRESERVE not in cells or bool(cells[_PRESERVE].cell_contents)


def _looks(frame: Any, tokens: dict[int, list[tuple[str, Any]]]) -> dict[int, list[tuple[str, Look]]]:
    """How the tensors looked for which there are tokens, by node; nothing where torch was not asked to check."""
    known = list(attribute(frame, "x_metadatas") or ())
    looks = {id(reference()): look for reference, look in zip(frame.weak_holders, known, strict=False)}
    return {
        number: [
            (name, (sorted(look["shape"]), look["dtype"]))
            for name, token in held
            if isinstance(look := looks.get(id(token)), dict)
        ]
        for number, held in tokens.items()
    }


def _is_made(node: Any, name: str) -> bool:
    return is_result(arguments_of(type(node)), name)


def _looks_of(node: Any, given: dict[int, Look], results: dict[Any, list[Look]]) -> list[Look]:
    """How that looks which a node made and which is there anyway."""
    leaf = attribute(node, "variable")
    if isinstance(leaf, torch.Tensor):
        return [_look(leaf)]
    return [given[id(node)]] if id(node) in given else results.get(node, [])


def _inputs(frame: Any) -> Iterator[torch.Tensor]:
    """The tensors that it will be called with again."""
    saver = attribute(frame, "input_saver")  # a node until torch 2.12, what it gave until 2.11
    kept = attribute(saver.grad_fn if isinstance(saver, torch.Tensor) else saver, "_raw_saved_tensors")
    waiting = [*(attribute(frame, "saved_args") or ()), *(kept or ())]
    while waiting:
        one = waiting.pop()
        if isinstance(one, torch.Tensor):
            if one.numel():  # torch's own, whose gradient makes the node, has none
                yield one
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(attribute(one, "data"), torch.Tensor):
            waiting.append(one.data)


def _before(node: Any) -> Iterator[tuple[Any, bool]]:
    """The nodes of what an operator was given, past those that made views of it; and whether a view has other sizes."""
    for target, _ in node.next_functions:
        found: Any = target
        cut = False
        while (kind := type(found).__name__.rstrip("0123456789")) in _VIEWS:
            found, cut = found.next_functions[0][0], cut or kind not in _TURNED
        if found is not None:
            yield found, cut


def _look(tensor: torch.Tensor) -> Look:
    return sorted(tensor.shape), tensor.dtype


def _take(there: list[Look | None], wanted: Look | None) -> bool:
    """Whether something is there that looks so, for which a saved tensor then stands."""
    if wanted in there:
        there.remove(wanted)
        return True
    return False
