"""What collectives are given: their group, tensors, peer, and whether they are waited for at once.

The surprise: a process group comes as torch's script object, a new one at each call. Unboxed it is the program's own,
known by its identity for as long as it lives; to ask it for its name would cost as much as all the rest.
"""

from __future__ import annotations

import itertools
import json
import weakref
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.probes.core.collectives import is_collective
from gradscope.probes.core.context import Context
from gradscope.signals import attribute, let_through
from gradscope.torch_internals.find import bound

WAITS = "_c10d_functional::wait_tensor"
_NOT_THEY = (WAITS, "c10d::check_for_nan", "c10d::monitored_barrier_")
_GROUPS = ("process_group", "group_name")
# By preference: what is sent, else what is received into.
_TENSORS = ("input_tensors", "input_tensor", "inputs", "input", "input_list", "tensors", "tensor")
_PEERS = ("dst", "src", "root_rank")
_BETWEEN_TWO = ("send", "recv_", "recv_any_source_", "isend", "irecv", "batch_p2p_ops")
_MOST_WAITING = 256  # results of asynchronous ones that nobody has waited for
_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_EXCHANGED = 4096  # tensors that are remembered until gradients are measured again
_size: Any = torch.Tensor.size  # in C, at half the price of `shape`: a collective may be given hundreds of tensors
_resolve: Any = bound("torch.distributed.distributed_c10d._resolve_process_group", None)
_world: Any = bound("torch.distributed.distributed_c10d._world", None)


@dataclass(frozen=True, slots=True)
class Signature:
    """Where an operator has what is to be known of its arguments; None for what it has not."""

    group: int
    tensors: int
    peer: int | None
    asynchronous: int | None
    in_sequence: bool


def signature_of(called: Any) -> Signature | None:
    """Of a collective; None for what is none, and for one that is not understood."""
    if not is_collective(called) or called._schema.name in _NOT_THEY:
        return None
    names = [argument.name for argument in called._schema.arguments]

    def first(wanted: tuple[str, ...]) -> int | None:
        return next((names.index(name) for name in wanted if name in names), None)

    group, tensors = first(_GROUPS), first(_TENSORS)
    if group is None or tensors is None:
        return None
    in_sequence = called._schema.name.partition("::")[2] not in _BETWEEN_TWO
    return Signature(group, tensors, first(_PEERS), first(("async_op",)), in_sequence)


def is_functional(called: Any) -> bool:
    """Whether it answers with tensors that are to be waited for."""
    return str(called._schema.name).startswith("_c10d_functional::") and called._schema.name != WAITS


class Group:
    """A process group: its number in the recording, its ranks, and how many collectives it has entered."""

    __slots__ = ("entered", "members", "number")

    def __init__(self, number: int, members: list[int]) -> None:
        self.number, self.members, self.entered = number, members, 0

    def rank(self, peer: int) -> int:
        """The rank in the world of one of its ranks."""
        return self.members[peer] if 0 <= peer < len(self.members) else peer


class CollectiveCalls:
    """Writes a row for each collective."""

    probe = "collective calls"

    def __init__(self, context: Context) -> None:
        self._sink = context.sink
        self._unbox: Any = bound("torch.distributed.ProcessGroup.unbox", None)
        self._groups: dict[int, tuple[Any, Group]] = {}  # by identity, with a weak reference
        self._named: dict[str, Group] = {}
        self._group_numbers, self._runs = itertools.count(1), itertools.count()
        self._known: dict[tuple[Any, ...], int] = {}  # ids of what they were given
        self._waited: dict[int, int] = {}  # asynchronous ones that nobody has waited for, by the address of the result
        self._whole = True  # no step was left out
        self._gradients: dict[int, tuple[Any, int]] = {}  # leaves and their names, by the address of what was measured
        self.exchanged: dict[int, tuple[Any, int]] = {}  # what else was given since then, by the address of its memory
        context.events.gradients_measured.append(self._measured)
        self._off = self._unbox is None or _resolve is None
        context.faults.switch(self.probe, self._switch_off)
        context.events.step_begins.append(self._begins)

    def _switch_off(self) -> None:
        self._off = True

    def _begins(self, recorded: bool) -> None:
        """A step begins. Once one was left out, nobody knows how many collectives there were."""
        self._whole = self._whole and recorded

    def note(self, signature: Signature, arguments: tuple[Any, ...], block_run: int) -> int:
        """One is about to run, the last operator of a block; its number, -1 for one that no rank hears of."""
        if self._off:
            return -1
        given = arguments[signature.tensors]
        if type(given) in _PLAIN:
            given = (given,)
        elif given and type(given[0]) is list:  # a list for each tensor
            given = [one for several in given for one in several]
        group, place = self._group(arguments[signature.group]), signature.peer
        waits = signature.asynchronous
        peer = None if place is None else arguments[place]
        at_once = waits is not None and len(arguments) > waits and not arguments[waits]
        if not _PLAIN.issuperset(map(type, given)):
            return -1  # a compiler's, say
        dtype = given[0].dtype if given else None  # torch.distributed refuses lists of several dtypes
        key = (group.number, peer, at_once, dtype, *map(_size, given))
        collective = self._known.get(key) or self._describe(key, group, peer, at_once, given)
        sequence = None
        if signature.in_sequence:
            sequence = group.entered if self._whole else None
            group.entered += 1
        number = next(self._runs)
        self._sink.add("collective_run", (number, collective, block_run, sequence))
        if self._gradients:
            self._note_gradients(number, given)
        return number

    def _group(self, given: Any) -> Group:
        """The process group that an operator was given: by name, as torch's script object, or itself."""
        if type(given) is str:
            return self._named.get(given) or self._resolve(given)
        group = self._unbox(given) if type(given) is torch.ScriptObject else given
        known = self._groups.get(id(group))
        return known[1] if known is not None and known[0]() is group else self._register(group)

    def _resolve(self, name: str) -> Group:
        found = self._named[name] = self._register(_resolve(name))
        return found

    def _register(self, group: Any) -> Group:
        """Write what a process group is."""
        known = self._groups.get(id(group))
        if known is not None and known[0]() is group:
            return known[1]
        members = torch.distributed.get_process_group_ranks(group)
        found = Group(next(self._group_numbers), members)
        name, backend = self._sink.string(group.group_name), self._sink.string(_backend(group))
        self._sink.add("process_group", (found.number, name, backend, json.dumps(members), _counted(group)))
        self._groups[id(group)] = (weakref.ref(group), found)
        if (
            found.number == 1
        ):  # whatever the environment says: a program that starts its ranks itself sets nothing there
            self._sink.add("run", ("rank", json.dumps(torch.distributed.get_rank())))
            self._sink.add("run", ("world_size", json.dumps(torch.distributed.get_world_size())))
        return found

    def _describe(self, key: Any, group: Group, peer: int | None, at_once: bool, given: Any) -> int:
        """Write what a collective is given, which is new."""
        types = [
            self._sink.tensor_type(one.shape, str(one.dtype).removeprefix("torch."), str(one.device)) for one in given
        ]
        number = self._sink.number("collective")
        rank = None if peer is None else group.rank(peer)
        size = sum(one.numel() * one.element_size() for one in given)
        self._sink.add("collective", (number, group.number, json.dumps(types), size, rank, not at_once))
        self._known[key] = number
        return number

    def _measured(self, leaves: list[tuple[Any, int]]) -> None:
        """Gradients were measured: whoever is given one of them until the next backward begins, is written down."""
        self._gradients = {
            leaf.grad.data_ptr(): (weakref.ref(leaf), name)
            for leaf, name in leaves
            if leaf.grad.layout is torch.strided
        }
        self.exchanged.clear()

    def _note_gradients(self, number: int, given: Any) -> None:
        for tensor in given if all(one.layout is torch.strided for one in given) else ():
            name = self._gradient_of(tensor)
            if name:
                self._sink.add("reduced_gradient", (number, name))
            elif len(self.exchanged) < _EXCHANGED:
                self.exchanged[tensor.untyped_storage().data_ptr()] = weakref.ref(tensor), number

    def _gradient_of(self, tensor: Any) -> int:
        """The name of the leaf whose measured gradient this is, 0 for none."""
        leaf, name = self._gradients.get(tensor.data_ptr(), (_nobody, 0))
        gradient = attribute(leaf(), "grad")
        is_it = gradient is not None and gradient.data_ptr() == tensor.data_ptr() and gradient.shape == tensor.shape
        return name if is_it else 0

    def copied(self, target: Any, source: Any) -> None:
        """Something is copied into a tensor: a gradient, maybe, from memory that was given to a collective."""
        if type(target) in _PLAIN and type(source) in _PLAIN and target.layout is source.layout is torch.strided:
            given, number = self.exchanged.get(source.untyped_storage().data_ptr(), (_nobody, 0))
            name = self._gradient_of(target) if given() is not None else 0
            if name:
                self._sink.add("reduced_gradient", (number, name))

    def returned(self, number: int, result: Any) -> None:
        """An asynchronous one has given the tensors that will hold its result."""
        if len(self._waited) < _MOST_WAITING:
            for tensor in result if isinstance(result, (list, tuple)) else (result,):
                if type(tensor) in _PLAIN:
                    self._waited[tensor.data_ptr()] = number

    def waits(self, tensor: Any, block_run: int) -> None:
        """Somebody waits for a result."""
        number = self._waited.pop(tensor.data_ptr(), None) if self._waited and type(tensor) in _PLAIN else None
        if number is not None:
            self._sink.add("collective_wait", (number, block_run))


def _nobody() -> None:
    """Stands for a leaf that there is not."""


def _backend(group: Any) -> str:
    """What it talks by: "gloo", or "cpu:gloo,cuda:nccl"."""
    entry = attribute(_world, "pg_map", {}).get(group)
    return str(entry[0] if entry else group.name())


def _counted(group: Any) -> int | None:
    """How many collectives torch has counted in it; None where its backend does not count."""
    count = attribute(group, "_get_sequence_number_for_group")
    try:
        return int(count())
    except Exception as error:  # its backend does not count, or there is no such method
        let_through(error)
        return None
