"""Looks for the origin of a loss that is not finite in the graph behind it, which is still whole before its backward.

Nodes keep what their operators got or gave. The oldest node that keeps something not finite shows where to look: at it,
or at the operator before it, whose result it keeps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import torch

from gradscope.probes.graph.interning import UNNUMBERED
from gradscope.probes.tensors.saved import saved_of
from gradscope.probes.tensors.value_samples import described_argument, first, is_plain

_GIVEN = ("result", "result0", "result1", "output", "out")  # what a node keeps of what its operator gave
_MOVE = ("Relu", "View", "T", "Transpose", "Permute", "Cat", "Stack", "Select", "Slice", "Expand", "Squeeze",
         "Unsqueeze", "Clone", "ToCopy", "Threshold",
         "LeakyRelu", "UnsafeView", "Split", "Index", "Reshape")  # fmt: skip

_PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "BaddbmmBackward", "AddmvBackward", "MvBackward",
             "DotBackward", "MulBackward", "ConvolutionBackward", "LinearBackward")  # fmt: skip


class Found:
    """The node, the argument through which a NaN came in (None: its operator gave it), and the values."""

    __slots__ = ("argument", "evidence", "node", "tensor")

    def __init__(self, node: Any, argument: str | None, tensor: torch.Tensor, evidence: str) -> None:
        self.node, self.argument, self.tensor, self.evidence = node, argument, tensor, evidence


def search_graph(live: list[Any], names: Callable[[Any], list[str]]) -> Found | None:
    """The oldest operator that a saved NaN or Inf points at; None when no node keeps one.

    `names` gives the names of a node's operator's tensor arguments, in the order of its edges.
    """
    numbered = [node for node in live if node._sequence_nr() != UNNUMBERED]
    for node in sorted(numbered, key=lambda node: node._sequence_nr()):
        for name, tensor in kept_by(node):
            if is_plain(tensor) and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                return _judged(node, name, tensor, names(node))
    return None


def _judged(node: Any, name: str, tensor: torch.Tensor, names: list[str]) -> Found | None:
    """Whether the node's operator made it, the one before it, or nobody in this graph."""
    if name in _GIVEN and not _moves(node):
        return _made(node, tensor)
    edges = [target for target, _ in node.next_functions]
    maker = edges[names.index(name)] if name in names and len(names) == len(edges) else None
    if name in _GIVEN:
        maker = edges[0] if len(edges) == 1 else None
    while maker is not None and _moves(maker):
        below = [target for target, _ in maker.next_functions if target is not None]
        maker = below[0] if len(below) == 1 else None
    if maker is not None and _adds(maker) and None in [target for target, _ in maker.next_functions]:
        return _came(maker, "one side", tensor)  # what came without an edge was given by nobody in the graph
    if maker is not None:
        return _made(maker, tensor) if maker._sequence_nr() != UNNUMBERED else _came(node, name, tensor)
    return _came(node, name, tensor)


def _came(node: Any, name: str, tensor: torch.Tensor) -> Found | None:
    """Nobody in the graph made it: it came with an argument. An Inf that did may be a mask, but no factor is one."""
    if not _multiplies(node) and not bool(torch.isnan(tensor).any()):
        return None
    return Found(node, name, tensor, _told(tensor, [(name, tensor)]))


def _made(node: Any, tensor: torch.Tensor) -> Found:
    for leaf in _leaves_of(node):
        if is_plain(leaf) and bool(torch.isnan(leaf).any()):
            return Found(node, "leaf", leaf, _told(leaf, [("leaf", leaf)]))
    arguments = [(name, one) for name, one in kept_by(node) if is_plain(one) and name not in _GIVEN]
    return Found(node, None, tensor, _told(tensor, arguments))


def _leaves_of(node: Any) -> Iterator[Any]:
    """The leaves that a node's operator was given, as they are or moved: a Linear's weight comes transposed."""
    for target, _ in node.next_functions:
        maker = target
        while maker is not None and _moves(maker) and len(maker.next_functions) == 1:
            maker = maker.next_functions[0][0]
        yield getattr(maker, "variable", None)


def _told(tensor: torch.Tensor, arguments: list[tuple[str, torch.Tensor]]) -> str:
    index = first(~torch.isfinite(tensor))
    result = {
        "shape": list(tensor.shape),
        "value": repr(tensor.detach()[tuple(index)].item()),
        "index": index,
        "nan": int(torch.isnan(tensor).sum()),
        "inf": int(torch.isinf(tensor).sum()),
    }
    return json.dumps(
        {"result": result, "arguments": [described_argument(name, one, tensor, index, None) for name, one in arguments]}
    )


def _adds(node: Any) -> bool:
    return bool(node.name().startswith(("AddBackward", "SubBackward", "RsubBackward")))


def _multiplies(node: Any) -> bool:
    return bool(node.name().startswith(_PRODUCTS))


def _moves(node: Any) -> bool:
    name = node.name().rpartition("::")[2]
    return any(name.startswith(f"{kind}Backward") for kind in _MOVE)


def kept_by(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """What a node keeps, as stored: no hook of the script runs."""
    for name, saved in saved_of(node):
        if isinstance(saved.data, torch.Tensor):
            yield name.partition("[")[0], saved.data
