"""A sum of a rank's own losses that is divided by a count which all ranks have summed, before a wrapper that averages
their gradients: the mean over all samples, and then divided by the number of ranks once more."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from math import prod

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.graph import Graph
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.mean_losses import have_own_losses, is_known_in_source, scales_gradients
from gradscope.ranks.gradients.reduced import DIVIDES, is_hooked, meetings_of
from gradscope.ranks.gradients.sharded_means import puts_together
from gradscope.ranks.source.syntax import nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_SUMS = "c10d.allreduce_."
_AS_IT_IS = frozenset(("clamp", "clamp_", "clamp_min", "clamp_min_", "maximum", "clone", "_to_copy", "detach", "alias"))
_INVERTS = "reciprocal"
_TIMES = frozenset(("mul", "mul_"))
_CARRIES = frozenset(("neg", "add", "add_", "clone", "squeeze", "view", "_to_copy"))
_SCALES = re.compile(r"(Div|Mul)Backward\d")
_ONE = "ones_like"
_READS = "_local_scalar_dense"
_TOTALS = re.compile(r"(Sum|NllLoss|NllLoss2D|MseLoss|L1Loss|SmoothL1Loss|HuberLoss)Backward\d")
_PASSES = re.compile(r"(Add|Neg|Sub|ToCopy|Squeeze|View|Reshape)Backward\d")
_FEW = 16  # numbers that are sent: more may be activations, through which ranks have parts in each other's losses
_LOOKS = 2  # backward calls, at least
_WRAPPER = "torch/nn/parallel/distributed"


@dataclass(slots=True)
class _Counts:
    """What a rank runs on the way to its losses; by storage: counts of all ranks, one by such, what is computed with
    gradients, and quotients by such counts. `one_by`: the lines that divide 1 by something."""

    meets: set[int]
    tensors: dict[int, FlowTensor]
    one_by: frozenset[tuple[str, int]]
    of_all: set[int] = field(default_factory=set)
    shares: set[int] = field(default_factory=set)
    learned: set[int] = field(default_factory=set)
    quotients: set[int] = field(default_factory=set)
    begun: set[int] = field(default_factory=set)  # quotients of which autograd itself makes the 1 that a backward takes
    exchanges: bool = False  # more than a few numbers

    def run(self, one: FlowOperation) -> None:
        """Go on after an operator."""
        read = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
        storages = {each.storage for each in read}
        made = [self.tensors[each] for each in one.makes if each in self.tensors]
        if is_collective(one.operation.name):
            self._meet(one, read, storages)
        elif one.operation.writes or not {each.storage for each in made} <= storages:
            self._compute(one, read, made)

    def _meet(self, one: FlowOperation, read: list[FlowTensor], storages: set[int]) -> None:
        if puts_together(one.operation) or any(_WRAPPER in site.file for site in one.operation.stack):
            return
        self.exchanges = self.exchanges or sum(prod(each.type.shape) for each in read) > _FEW
        sums = one.operation.name.startswith(_SUMS) and one.run in self.meets
        self.of_all -= storages
        self.shares -= storages
        if sums and not storages & self.learned:  # what is summed of losses is shown, or a weight
            self.of_all |= storages

    def _compute(self, one: FlowOperation, read: list[FlowTensor], made: list[FlowTensor]) -> None:
        name, storages = base_name(one.operation.name), {each.storage for each in made}
        learns = any(each.requires_grad for each in one.reads) or any(each.storage in self.learned for each in read)
        first = read[0].storage if read else -1
        is_count = name in _AS_IT_IS and first in self.of_all
        is_share = (name in _AS_IT_IS or self._is_one_by(one, name)) and first in self.shares
        is_share = is_share or (name == _INVERTS and first in self.of_all)
        is_quotient = one.operation.grad and self._is_quotient(one, name, read)
        if name == _ONE:
            self.begun |= {each.storage for each in read} & self.quotients
        gradients = {each.storage for each in made if learns and "float" in each.type.dtype}
        for known in (self.of_all, self.shares, self.quotients, self.learned):
            known.difference_update(storages)
        self.of_all.update(storages if is_count else ())
        self.shares.update(storages if is_share else ())
        self.quotients.update(storages if is_quotient else ())
        self.learned.update(gradients)

    def _is_one_by(self, one: FlowOperation, name: str) -> bool:
        """Whether an operator is the second part of 1 / x, which torch computes as the reciprocal times 1."""
        return name in _TIMES and one.site is not None and (one.site.file, one.site.line) in self.one_by

    def _is_quotient(self, one: FlowOperation, name: str, read: list[FlowTensor]) -> bool:
        """Whether an operator divides something learned by a count of all, or goes on with what was divided so."""
        learned = [each.storage for each, by in zip(read, one.reads, strict=False) if by.requires_grad]
        others = [each.storage for each, by in zip(read, one.reads, strict=False) if not by.requires_grad]
        if len(read) != len(one.reads) or not learned:
            return False
        if name in _CARRIES:
            return not others and self.quotients.issuperset(learned)
        if len(read) != 2 or len(others) != 1:
            return False
        divides = name in DIVIDES and one.reads[0].requires_grad and others[0] in self.of_all
        return divides or (name in _TIMES and others[0] in self.shares)


def divided_by_all(ranks: Ranks, replicas: Replicas, recording: Recording) -> Site | None:
    """The line that divides the losses; None where anything else in the program takes the division back."""
    if is_scaled_otherwise(ranks, replicas, recording):
        return None
    first = _first(recording)
    sites = {_divided(recording, number) for number in first}
    site = sites.pop() if len(sites) == 1 else None
    return site if site is not None and _by_counts(recording, replicas, first) else None


def is_scaled_otherwise(ranks: Ranks, replicas: Replicas, recording: Recording) -> bool:
    """Whether anything but the division of losses may scale gradients, or is not known to leave them as they are."""
    if len(replicas.members) < len(ranks.ranks) or ranks.averaging[replicas.members[0]].by_hand:
        return True
    if not have_own_losses(ranks, replicas) or is_hooked(recording) or is_known_in_source(recording, of_sums=True):
        return True
    first = _first(recording)
    stepped = {look.backward for look in recording.optimizer_looks()}
    if len(first) < _LOOKS or not stepped.issuperset(first):  # else parts of a batch may be added up
        return True
    calls = [call for call in recording.backwards() if call.number in recording.graph_sizes()]
    return any(call.nested_in is not None or call.create_graph for call in calls) or scales_gradients(recording, calls)


def _first(recording: Recording) -> list[int]:
    known = recording.graph_sizes()
    return [call.number for call in recording.backwards() if call.number in known][:_LOOKS]


def _divided(recording: Recording, number: int) -> Site | None:
    """The first line that divides a sum of losses, where a backward starts from such alone."""
    graph = recording.graph(number)
    if len(graph.roots) != 1:
        return None
    onward = _onward(graph)
    waiting, found = list(graph.roots), list[Site | None]()
    for at in waiting:  # grows while it is walked
        node = graph.nodes[at]
        if _SCALES.fullmatch(node.name):
            if not _is_a_total(graph, at):
                return None
            found.append(node.site)
        elif _PASSES.fullmatch(node.name):
            waiting += [one for one in onward.get(at, ()) if one not in waiting]
        else:
            return None
    return next(iter(found), None)


def _onward(graph: Graph) -> dict[int, list[int]]:
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    return onward


def _is_a_total(graph: Graph, root: int) -> bool:
    """Whether additions alone lead from what a node divides to sums."""
    onward = _onward(graph)
    waiting, ends = list(dict.fromkeys(onward.get(root, ()))), 0
    for at in waiting:  # grows while it is walked
        name = graph.nodes[at].name
        ends += _TOTALS.fullmatch(name) is not None
        if _PASSES.fullmatch(name):
            waiting += [one for one in onward.get(at, ()) if one not in waiting]
        elif not _TOTALS.fullmatch(name):
            return False
    return ends > 0


def _by_counts(recording: Recording, replicas: Replicas, backwards: list[int]) -> bool:
    """Whether what backward calls start from was divided by counts that all ranks had summed."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    counts = _Counts(meetings_of(recording, replicas), tensors, _ones_by(recording))
    for one in recording.flow():
        if one.backward is None:
            counts.run(one)
    starts = {one.backward: tensors[one.tensor].storage for one in recording.flow_ends() if one.tensor in tensors}
    return not counts.exchanges and all(starts.get(number) in counts.begun for number in backwards)


def counts_read(recording: Recording, replicas: Replicas) -> list[Site]:
    """The lines that read a number from a count which all ranks have summed."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    counts = _Counts(meetings_of(recording, replicas), tensors, frozenset())
    found: dict[str, Site] = {}
    for one in recording.flow():
        read = {tensors[each.tensor].storage for each in one.reads if each.tensor in tensors}
        if base_name(one.operation.name) == _READS and read & counts.of_all and one.site is not None:
            found[str(one.site)] = one.site
        if one.backward is None:
            counts.run(one)
    return list(found.values())


def _ones_by(recording: Recording) -> frozenset[tuple[str, int]]:
    """The lines that divide 1 by something, and multiply nothing."""
    found: set[tuple[str, int]] = set()
    for file in recording.sources():
        nodes = [one for one in nodes_of(tree_of(recording, Site(file, 1))) if isinstance(one, ast.BinOp)]
        divide = {one.lineno for one in nodes if isinstance(one.op, ast.Div) and _is_one(one.left)}
        others = {one.lineno for one in nodes if isinstance(one.op, ast.Mult | ast.Div) and not _is_one(one.left)}
        found.update((file, line) for line in divide - others)
    return frozenset(found)


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1
