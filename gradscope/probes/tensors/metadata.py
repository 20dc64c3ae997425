"""Reads what is recorded of tensors: types and storages, never data. Every read must work on any kind of tensor."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Sequence
from typing import Any

import torch

from gradscope.model.notice import FORGETS_CHANCE
from gradscope.probes.core.context import Context
from gradscope.probes.core.digest import digest
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.sink import Sink, store
from gradscope.probes.tensors.checkpoints import Checkpoint, Packed, checkpoints
from gradscope.probes.tensors.saved import saved_of
from gradscope.probes.tensors.saved_results import arguments_of, is_result
from gradscope.signals import let_through

_META, _SAVED = 3, 7  # numbers in a row
_OWN = 1 << 20  # positions of what no node saves itself begin here


class TensorTypes:
    """Interns shape, dtype and device."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._known: dict[Any, int] = {}

    def take(self, tensor: Any) -> int:
        """The id for a tensor, or for a node's input metadata."""
        try:
            key = (tuple(tensor.shape), tensor.dtype, tensor.device)  # the metadata of a node holds its shape as a list
        except RuntimeError as error:  # a nested tensor of the C++ kind has no shape
            let_through(error)
            key = ((-1,) * tensor.dim(), tensor.dtype, tensor.device)
        try:
            known = self._known.get(key)
        except TypeError as error:  # symbolic sizes have no hash
            let_through(error)
            return self._intern(key)
        if known is None:
            known = self._known[key] = self._intern(key)
        return known

    def _intern(self, key: tuple[Any, torch.dtype, torch.device]) -> int:
        shape, dtype, device = key
        sizes = [size if type(size) is int else -1 for size in shape]
        return self._sink.tensor_type(sizes, str(dtype).removeprefix("torch."), str(device))


class TensorContents:
    """Interns the tensors of a graph: the metadata of what each node receives, and what each node saves."""

    def __init__(self, context: Context) -> None:
        self._sink, self._names = context.sink, context.names
        self._kept = context.options.has("saved tensors")  # also what each node saves
        self._types = TensorTypes(context.sink)
        self._attributes: dict[type, list[tuple[str, int]]] = {}
        self._arguments: dict[type, frozenset[str] | None] = {}
        self._storage_asked = context.events.storage_asked
        self._forgetting: set[int] = set()  # the stacks of checkpoints that were noted

    def take(self, live: list[Any], leaves: dict[int, int]) -> int:
        """The id of a graph's tensors. `leaves` names the leaves by storage."""
        metas, saved = array("q"), array("q")
        storages: dict[int, int] = {}
        packed: list[Packed] = []
        for number, node in enumerate(live):
            for position, meta in enumerate(node._input_metadata):
                metas.extend((number, position, 0 if meta.is_cpp_nested_tensor else self._types.take(meta)))
            for position, (name, tensor) in enumerate(self.saved(node, number, packed)):
                saved.extend((number, position, name, *self._describe(tensor, leaves, storages)))
        found = checkpoints(live, packed) if packed else []
        self._note_chance(live, found)
        for one in found:
            for position, tensor in enumerate(one.inputs):
                name = self._sink.string(f"checkpoint's input {position}")
                saved.extend((one.last, _OWN + position, name, *self._describe(tensor, leaves, storages)))
        again = [(number, place, size) for place, one in enumerate(found) for number, size in one.again.items()]

        def write(number: int) -> None:
            self._write(number, metas, saved)
            self._sink.add_all("again", ((number, *row) for row in again))
            given = self._given(live, leaves, storages, [tensor for one in found for tensor in one.inputs])
            self._sink.add_all("given", ((number, storage) for storage in sorted(given)))

        return store(self._sink, "tensors", digest(metas, saved, array("q", itertools.chain(*again))), write)

    def _note_chance(self, live: list[Any], found: list[Checkpoint]) -> None:
        """Note the lines of checkpoints that draw other random numbers when they run again."""
        for one in found:
            token = None if one.repeats_chance else token_of(live[one.last])
            if token is not None and token.stack not in self._forgetting:
                self._forgetting.add(token.stack)
                self._sink.add("notice", (FORGETS_CHANCE, token.stack))

    def _describe(
        self, tensor: torch.Tensor, leaves: dict[int, int], storages: dict[int, int]
    ) -> tuple[int, int, int, int]:
        """Type, bytes, number of the storage, and the leaf's name if it is a leaf's."""
        storage, size = storage_of(tensor)
        leaf = leaves.get(storage, 0)
        if not leaf:
            owner = _leaf_of(tensor)
            leaf = 0 if owner is None else self._sink.string(self._names.leaf(owner))
        own = storage or -id(tensor)  # what has no storage to share gets a number of its own
        return self._types.take(tensor), size, storages.setdefault(own, len(storages)), leaf

    def _given(
        self, live: list[Any], leaves: dict[int, int], storages: dict[int, int], inputs: list[torch.Tensor]
    ) -> set[int]:
        """The storages of no leaf that the forward did not compute."""
        given, computed = set[int](), set[int]()
        for node in live:
            arguments = self._arguments_of(type(node))
            for name, one in saved_of(node):
                tensor = one.data
                storage = storage_of(tensor)[0] if isinstance(tensor, torch.Tensor) else 0
                if storage in storages and storage not in leaves:
                    known = True if tensor.requires_grad else self._computed(storage)
                    made = is_result(arguments, name) if known is None else known
                    (computed if made else given).add(storages[storage])
        for tensor in inputs:
            storage = storage_of(tensor)[0]
            if storage in storages and storage not in leaves:
                known = True if tensor.requires_grad else self._computed(storage)
                (computed if known else given).add(storages[storage])
        return given - computed

    def _computed(self, storage: int) -> bool | None:
        """Whether a forward computed it; None when nobody saw operators, or none that read it."""
        answers = (ask(storage) for ask in self._storage_asked)
        return next((answer for answer in answers if answer is not None), None)

    def _arguments_of(self, kind: type) -> frozenset[str] | None:
        if kind not in self._arguments:
            self._arguments[kind] = arguments_of(kind)
        return self._arguments[kind]

    def _write(self, tensors: int, metas: array[int], saved: array[int]) -> None:
        sizes = {saved[at + 5]: saved[at + 4] for at in range(0, len(saved), _SAVED) if not saved[at + 6]}
        self._sink.add("tensors", (tensors, sum(sizes.values())))
        self._sink.add_all("input_meta", ((tensors, *metas[at : at + _META]) for at in range(0, len(metas), _META)))
        self._sink.add_all("saved", ((tensors, *saved[at : at + _SAVED]) for at in range(0, len(saved), _SAVED)))

    def saved(
        self, node: Any, number: int = 0, packed: list[Packed] | None = None
    ) -> Sequence[tuple[int, torch.Tensor]]:
        """Name and tensor of what a node keeps, as stored: no unpack hook runs, no version is checked, none once freed.

        What a pack hook has put in a tensor's place is no tensor: it is left out, and added to `packed`.
        """
        kind = type(node)
        attributes = self._attributes.get(kind)
        if attributes is None:
            names = [name for name in dir(kind) if self._kept and name.startswith("_raw_saved_")]
            attributes = [(name, self._sink.string(name.removeprefix("_raw_saved_"))) for name in names]
            self._attributes[kind] = attributes
        found: list[tuple[int, torch.Tensor]] = []
        for attribute, name in attributes:
            try:
                value = getattr(node, attribute)
            except RuntimeError as error:  # freed by an earlier backward
                let_through(error)
                return ()
            several = type(value) is tuple
            for position, one in enumerate(value if several else (value,)):
                tensor = None if one is None else one.data
                if isinstance(tensor, torch.Tensor):
                    found.append((self._sink.string(f"{attribute[11:]}[{position}]") if several else name, tensor))
                elif tensor is not None and packed is not None:
                    packed.append((number, attribute[11:], one))
        return found


def _leaf_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The leaf that a tensor is, or of which it is a view: one that requires grad, or a frozen parameter."""
    if tensor.is_leaf and tensor.requires_grad:
        return tensor
    base = tensor._base if tensor._is_view() else tensor
    return base if isinstance(base, torch.nn.Parameter) else None


def storage_of(tensor: torch.Tensor) -> tuple[int, int]:
    """The tensor's storage as (identity while it lives, bytes); (0, 0) where it has none to share."""
    try:
        storage = tensor.untyped_storage()
        return storage._cdata, storage.nbytes()
    except (RuntimeError, NotImplementedError) as error:  # sparse, nested, functorch wrappers
        let_through(error)
        return 0, 0
