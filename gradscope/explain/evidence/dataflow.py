"""Follows tensors through the recorded operators: forwards from a parameter, backwards from a loss.

A cut is an operator that read a tensor which required grad, and whose result did not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import merge

from gradscope.explain.evidence.aliases import with_aliases
from gradscope.explain.evidence.function_forwards import runs_in_a_function
from gradscope.explain.evidence.optimizer_frames import is_in_closure, runs_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import FlowEnd, FlowOperation, FlowTensor, Read
from gradscope.model.operation import base_name
from gradscope.model.site import Stack
from gradscope.store.asked import kept
from gradscope.store.facts import Facts

_SHAPE_ONLY = ("_like", "new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")
_WHOLE = ("int", "uint", "bool")  # kinds of numbers
_SCALAR = ("_local_scalar_dense", "item")
_COLLECTIVES = "c10d."
CTC_LOSSES = ("_ctc_loss", "_cudnn_ctc_loss")


@dataclass(frozen=True, slots=True)
class Cut:
    """Operator `operation` (an index) read `read`, which required grad, and made `made` without."""

    operation: int
    read: int
    made: int | None


@dataclass(slots=True)
class Way:
    """How far the values of a tensor went while they required grad, and where that ended."""

    live: set[int] = field(default_factory=set)  # tensors that require grad because of it
    operations: list[int] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # operators whose results nobody read


class RecordedDataflow:
    """The recorded flow. Operators are named by their index in `operations`."""

    def __init__(
        self,
        operations: Iterable[FlowOperation],
        tensors: Iterable[FlowTensor],
        ends: Iterable[FlowEnd],
        first: int = 0,
        inside_functions: frozenset[int] = frozenset(),
        pace: Callable[[], None] = lambda: None,
    ) -> None:
        """`first`: what operators did before this one counts for nothing. `inside_functions` are those that ran in the
        forward of a custom Function. `pace` is called for each tensor that a walk comes to.
        """
        self.inside_functions, self._pace = inside_functions, pace
        self.operations = tuple(operations)
        self.tensors = {tensor.number: tensor for tensor in tensors}
        self.ends = tuple(ends)
        self.readers: dict[int, list[int]] = defaultdict(list)
        self.makers: dict[int, list[int]] = defaultdict(list)
        self._shape_readers: dict[int, list[int]] = defaultdict(list)
        self._writers: dict[int, list[tuple[int, int]]] = defaultdict(list)  # storage -> (operator, tensor written)
        self._set: set[tuple[int, int]] = set()  # (operator, leaf that it gives new values)
        self.written: dict[int, set[int]] = {}  # the storages that operators write in place, where there are any
        for at in range(first, len(self.operations)):
            self._add(at, self.operations[at])

    def since(self, first: int, backwards: Container[int]) -> RecordedDataflow:
        """The flow from an operator on, towards these backward calls. Operators keep their index."""
        ends = (end for end in self.ends if end.backward in backwards)
        return RecordedDataflow(self.operations, self.tensors.values(), ends, first, self.inside_functions, self._pace)

    def _add(self, at: int, operation: FlowOperation) -> None:
        reads, makers = operation.reads, self.makers
        readers = self._shape_readers if reads_shape_only(operation) else self.readers
        for one in reads:
            readers[one.tensor].append(at)
        for tensor in operation.makes:
            makers[tensor].append(at)
            for one in reads:
                if one.tensor == tensor:
                    self._add_write(at, operation, one)

    def _add_write(self, at: int, operation: FlowOperation, written: Read) -> None:
        tensor = written.tensor
        if tensor in self.tensors:
            storage = self.tensors[tensor].storage
            if self._writers[storage][-1:] != [(at, tensor)]:  # else it is read twice
                self._writers[storage].append((at, tensor))
            self.written.setdefault(at, set()).add(storage)
        if written.leaf and not operation.operation.grad:
            self._set.add((at, tensor))

    def under(self, wanted: Callable[[Stack], bool]) -> list[int]:
        """The operators that ran under wanted stacks, each of which is judged once."""
        return sorted(at for stack, places in self._by_stack if wanted(stack) for at in places)

    @cached_property
    def _by_stack(self) -> list[tuple[Stack, list[int]]]:
        """The operators by their stacks, of which there are far fewer."""
        found: dict[int, tuple[Stack, list[int]]] = {}
        for at, one in enumerate(self.operations):
            stack = one.operation.stack
            key = id(stack)
            if key not in found:
                found[key] = stack, []
            found[key][1].append(at)
        return list(found.values())

    @cached_property
    def roots(self) -> tuple[FlowEnd, ...]:
        """What backward calls started from."""
        return tuple(end for end in self.ends if not end.target)

    @cached_property
    def useful(self) -> frozenset[int]:
        """The tensors whose values went into something that a backward started from, cut or not."""
        seen: set[int] = set()
        walked: dict[int, int] = {}
        waiting = [(root.tensor, len(self.operations)) for root in self.roots]
        while waiting:
            one, before = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for at in self.sources(one, before, walked):
                waiting += [(read.tensor, at) for read in self._values(at) if read.tensor not in seen]
        return frozenset(seen)

    def shape(self, tensor: int) -> tuple[int, ...]:
        """The sizes of a tensor; none where it is not known."""
        known = self.tensors.get(tensor)
        return () if known is None else known.type.shape

    def maker(self, tensor: int, before: int) -> int | None:
        """The last operator before a place that made a tensor, or wrote into it."""
        return max((at for at in self.makers.get(tensor, ()) if at < before), default=None)

    def sources(self, tensor: int, before: int, walked: dict[int, int] | None = None) -> Iterator[int]:
        """The operators that made a tensor's value: made it, or wrote into its memory.

        A walk that visits each operator once keeps in `walked` up to where each storage's writers were told: memory
        that is filled piece by piece has thousands of them, and as many views.
        """
        self._pace()
        known = self.tensors.get(tensor)
        for at in self.makers.get(tensor, ()):
            if at < before and not self.sets_leaf(at, tensor):
                yield at
        if known is None:
            return
        writers, first = self._writers.get(known.storage, []), 0
        if walked is not None:
            first, walked[known.storage] = walked.get(known.storage, 0), max(before, walked.get(known.storage, 0))
        for at, written in writers[bisect_left(writers, (first,)) : bisect_left(writers, (before,))]:
            if written != tensor and not self.sets_leaf(at, written):
                yield at

    def sets_leaf(self, at: int, tensor: int) -> bool:
        """Whether an operator gives a leaf new values, as an initialisation or an optimizer does: no part of a loss."""
        return (at, tensor) in self._set

    def _values(self, at: int) -> tuple[Read, ...]:
        operation = self.operations[at]
        return () if reads_shape_only(operation) else operation.reads

    def reads_learned(self, at: int) -> bool:
        """Whether an operator of a forward recorded a graph: gradients were on, and it read what requires grad."""
        operation = self.operations[at]
        return (
            operation.backward is None
            and operation.operation.grad
            and any(one.requires_grad for one in operation.reads)
        )

    def later(self, tensor: int, after: int) -> Read | FlowEnd | None:
        """How a tensor was first seen after an operator; None when nothing saw it again."""
        both = (self.readers.get(tensor, ()), self._shape_readers.get(tensor, ()))
        following = [readers[place] for readers in both if (place := bisect_right(readers, after)) < len(readers)]
        if not following:
            return self._ends.get(tensor)
        return next(read for read in self.operations[min(following)].reads if read.tensor == tensor)

    def met(self, tensor: int) -> Iterator[tuple[int, Read]]:
        """Each operator that read a tensor, its values or its shape only, with how it was then."""
        values, shapes = self.readers.get(tensor, ()), self._shape_readers.get(tensor, ())
        before = -1
        for at in merge(values, shapes) if shapes else values:
            if at != before:  # what reads it twice stands there twice
                yield from ((at, read) for read in self.operations[at].reads if read.tensor == tensor)
            before = at

    @cached_property
    def _parameters(self) -> frozenset[int]:
        """The storages of parameters."""
        return frozenset(tensor.storage for tensor in self.tensors.values() if tensor.parameter)

    @cached_property
    def _ends(self) -> dict[int, FlowEnd]:
        return {end.tensor: end for end in reversed(self.ends)}

    def becomes_a_number(self, tensor: int | None) -> bool:
        """Whether a value computed from a tensor in the same stretch of operators is handed to Python."""
        seen: set[int] = set()
        waiting = [] if tensor is None else [tensor]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for at in self.readers.get(one, ()):
                if self.operations[at].backward is None:
                    if leaves_torch(self.operations[at]) and self.comes_back(at):
                        return True
                    waiting += self.operations[at].makes
        return False

    def comes_back(self, at: int) -> bool:
        """Whether a number that left torch may have gone into a loss, one being computed later in the same stretch.

        What is logged after a backward was computed in the stretch before.
        """
        run = self.operations[at].run
        sources = (maker for read in self.operations[at].reads for maker in self.makers[read.tensor])
        if not any(self.operations[maker].run == run for maker in sources):
            return False
        results = (maker for root in self.roots for maker in self.makers.get(root.tensor, ()))
        return any(maker > at and self.operations[maker].run == run for maker in results)

    def is_whole(self, tensor: int | None) -> bool:
        """Whether a tensor holds whole numbers or truth values, which have no derivative."""
        known = None if tensor is None else self.tensors.get(tensor)
        return known is not None and known.type.dtype.startswith(_WHOLE)

    def only_chooses(self, tensor: int | None) -> bool:
        """Whether all that a loss takes of a value are whole numbers or truth values that were made of it."""
        waiting = [] if tensor is None else [tensor]
        seen, chose = set(waiting), False
        ends = {root.tensor for root in self.roots}
        while waiting:
            one = waiting.pop()
            if one in ends:
                return False
            if self.is_whole(one):
                chose = chose or one in self.useful
                continue
            readers = (self.operations[at] for at in self.readers.get(one, ()))
            new = {made for each in readers if each.backward is None for made in each.makes} - seen
            seen |= new
            waiting += new
        return chose

    def leaf_on_the_way(self, tensor: int | None) -> bool:
        """Whether a tensor, or what was made of it for a loss, was made a leaf that requires grad."""
        seen: set[int] = set()
        waiting = [] if tensor is None else [tensor]
        while waiting:
            one = waiting.pop()
            if one in seen or one not in self.useful:
                continue
            seen.add(one)
            met, known = self.later(one, -1), self.tensors.get(one)
            view = known is not None and known.storage in self._parameters  # made under no_grad, it looks like a leaf
            leaf = any(read.leaf for _, read in self.met(one)) or (met is not None and met.leaf)
            if leaf and not view:
                return True
            for at in self.readers.get(one, ()):
                if self.operations[at].backward is None:
                    waiting += [made for made in self.operations[at].makes if not self.sets_leaf(at, made)]
        return False

    def behind(self, tensor: int, end: int | None = None) -> list[Cut]:
        """The cuts nearest to a tensor that requires no grad, the latest first; `end`: an operator that reads it."""
        cuts: dict[int, Cut] = {}
        seen: set[int] = set()
        walked: dict[int, int] = {}
        waiting = [(tensor, len(self.operations) if end is None else end)]
        while waiting:
            one, before = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for at in self.sources(one, before, walked):
                for read in self._values(at):
                    if read.requires_grad:
                        cuts.setdefault(at, Cut(at, read.tensor, one))
                    else:
                        waiting.append((read.tensor, at))
        return [cuts[at] for at in sorted(cuts, reverse=True)]

    def onward(self, tensor: int) -> Way:
        """Follow what depends on a leaf as long as it requires grad."""
        way = Way()
        waiting, seen = [tensor], {tensor}
        passed: set[int] = set()
        while waiting:
            self._pace()
            one = waiting.pop()
            way.live.add(one)
            for at in self.readers.get(one, ()):
                if at in passed or not self._goes_on(at, one):
                    continue
                passed.add(at)
                waiting += [made for made in self._onward(at, one, way) if made not in seen]
                seen.update(waiting)
        way.operations += sorted(passed)
        way.cuts.sort(key=lambda cut: cut.operation)
        return way

    def is_used(self, tensor: int) -> bool:
        """Whether anything depends on a leaf for autograd; a copy of its values without gradients does not."""
        return any(True for _ in self.uses(tensor))

    def uses(self, tensor: int) -> Iterator[int]:
        """The operators through which anything depends on a leaf for autograd."""
        readers = (at for at in self.readers.get(tensor, ()) if self.operations[at].operation.grad)
        return (at for at in readers if self._goes_on(at, tensor))

    def _goes_on(self, at: int, read: int) -> bool:
        """Whether an operator of a forward reads a tensor that requires grad."""
        operation = self.operations[at]
        if operation.backward is not None or self.sets_leaf(at, read):
            return False
        if is_optimizer(operation) and not is_in_closure(operation.operation.stack):
            return False
        return any(one.tensor == read and one.requires_grad for one in operation.reads)

    def _onward(self, at: int, read: int, way: Way) -> Iterator[int]:
        """The results of an operator that go on requiring grad; notes a cut or an end otherwise."""
        operation = self.operations[at]
        within = at in self.inside_functions
        unread = True
        for made in operation.makes:
            met = self.later(made, at)
            unread = unread and met is None
            if met is not None and ((met.requires_grad and not met.leaf) or within):
                yield made
            elif met is not None:
                way.cuts.append(Cut(at, read, made))
        if unread:
            way.ends.append(at)


@kept
def dataflow(facts: Facts) -> RecordedDataflow:
    """The flow of tensors through the operators that were examined."""
    tensors = {tensor.number: tensor for tensor in facts.flow_tensors()}
    known = syntax(facts)
    operations = with_aliases(tuple(filter(_is_of_a_graph, facts.flow())), tensors, known)
    flow = RecordedDataflow(operations, tensors.values(), facts.flow_ends(), pace=facts.pace)
    flow.inside_functions = frozenset(flow.under(lambda stack: runs_in_a_function(known, stack)))
    return flow


def _is_of_a_graph(operation: FlowOperation) -> bool:
    """Whether it is no collective that ran without gradients, as those do that share parameters and numbers."""
    return operation.operation.grad or not operation.operation.name.startswith(_COLLECTIVES)


def reads_shape_only(operation: FlowOperation) -> bool:
    """Whether an operator takes no values from what it reads: zeros_like and its kind."""
    return _makes_from_shape(operation.operation.name)


@lru_cache(maxsize=4096)
def _makes_from_shape(operator: str) -> bool:
    return base_name(operator).endswith(_SHAPE_ONLY)


def leaves_torch(operation: FlowOperation) -> bool:
    """Whether an operator hands a number to Python."""
    return base_name(operation.operation.name) in _SCALAR


def is_optimizer(operation: FlowOperation) -> bool:
    """Whether torch's optimizers ran it."""
    return runs_optimizer(operation.operation)
