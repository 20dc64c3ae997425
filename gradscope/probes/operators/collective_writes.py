"""What a collective writes into the tensors that it is given: its schema says nothing of it, and no version is raised.

Of those that put something else in the place of what a rank had: a sum, a message. A broadcast and an all_gather may
give a rank again what it has, weights for instance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradscope.torch_internals.find import bound

_RECEIVE = ("allreduce_", "allreduce_coalesced_", "reduce_", "recv_", "recv_any_source_")
_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_unbox: Any = bound("torch.distributed.ProcessGroup.unbox", None)


def receiver_of(operator: Any) -> Callable[[tuple[Any, ...]], Sequence[torch.Tensor]] | None:
    """What tells the tensors that a collective will write; None for one that writes none, or may write the same."""
    space, _, name = operator._schema.name.partition("::")
    if space != "c10d" or name not in _RECEIVE or _unbox is None:
        return None
    names = [argument.name for argument in operator._schema.arguments]
    root = names.index("root_rank") if "root_rank" in names else None

    def received(arguments: tuple[Any, ...]) -> Sequence[torch.Tensor]:
        tensors, group = arguments[:2]
        group = _unbox(group) if type(group) is torch.ScriptObject else group
        is_root = root is None or arguments[root] == group.rank()
        are_plain = _PLAIN.issuperset(map(type, tensors)) and all(one.layout is torch.strided for one in tensors)
        return tensors if is_root and are_plain and group.size() > 1 else ()

    return received
