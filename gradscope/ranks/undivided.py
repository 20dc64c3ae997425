"""GS765: gradients of mean losses that a program sums over the ranks, and divides nowhere by their number."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradscope.model.graph import Backward, Graph
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.copies import Replicas, replicas_of
from gradscope.ranks.deciding import names_their_number
from gradscope.ranks.kind import Blame
from gradscope.ranks.known import Ranks
from gradscope.ranks.syntax import nodes_of, tree_of
from gradscope.store.reader import Recording, load

_SCALES = frozenset(
    f"{prefix}{name}{ending}"
    for prefix in ("", "_foreach_")
    for name in ("div", "mul", "true_divide", "addcdiv")
    for ending in ("", "_")
)
_MEANS = re.compile(r"(Mean|MseLoss|NllLoss|NllLoss2D|SmoothL1Loss|HuberLoss|BinaryCrossEntropy(WithLogits)?)Backward0")
_ADDS = "AddBackward"
_OTHERWISE = re.compile(
    r"\bAVG\b|\bPREMUL_SUM\b|_make_nccl_premul_sum|['\"](?:sum|avg)['\"]"
)  # as a reduction is called
PROPORTIONAL = "SGD"  # to the gradient: a step of Adam is as large for one that is twice as large
_STEPS = "torch/optim"
_LOOKS = 2
_ALIKE = 1e-3  # relative


def undivided(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Gradients of losses that are means, which the program sums over the ranks and divides nowhere by their number.
    Why:
        The mean over all samples is the mean of the ranks' means, not their sum. With n ranks each step is n times as
        large as that of one process with the same learning rate: what trained well on one diverges on many.
    Wrong:
        dist.all_reduce(parameter.grad)
    Right:
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    Do instead:
        Divide the sum by the number of ranks, or the loss before its backward, or divide a sum of losses by the number
        of samples of all ranks; or leave it to DistributedDataParallel.
    How it is found:
        A hint: the learning rate may be chosen for it. The gradients of all leaves of each recorded backward were
        summed in one group, by the program, and an SGD that has them stepped. From the loss additions alone lead to a
        mean, or to a loss of torch's that takes one; the ranks have losses of their own. Nothing scales anything by an
        operator between a backward and the step, nor in a hook; the source divides and multiplies nothing by what is
        called as the number of ranks is, except for what operators compute elsewhere, and names no other reduction.
    """
    for replicas in replicas_of(ranks):
        if replicas.leaves is None or not have_own_losses(ranks, replicas):
            continue
        told = ranks.averaging[replicas.members[0]]
        site = next((one.site for one in told.by_hand if one.group == replicas.group and one.site is not None), None)
        if site is None or told.groups or len(replicas.members) < len(ranks.ranks):
            continue
        with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
            found = _is_undivided(recording, replicas.leaves) and not is_known_in_source(recording)
        if found:
            world = len(replicas.members)
            yield Blame(
                f"gradients of mean losses are summed over {world:,} ranks, and nothing divides them: each step is "
                f"{world:,} times as large as that of the mean over all samples",
                site,
                certain=False,
            )
            return


def have_own_losses(ranks: Ranks, replicas: Replicas) -> bool:
    """Whether each rank's losses are not the first one's: parts of one model have one loss, whose gradients add up."""
    of_each = {number: dict(losses) for losses, numbers in ranks.losses.items() for number in numbers}
    first, *others = (of_each.get(number, {}) for number in replicas.members)
    for other in others:
        both = [(float(first[at]), float(other[at])) for at in first.keys() & other.keys()]
        both = [each for each in both if all(map(math.isfinite, each))]
        if len(both) < _LOOKS or all(math.isclose(*each, rel_tol=_ALIKE) for each in both):
            return False
    return True


def _is_undivided(recording: Recording, leaves: frozenset[str]) -> bool:
    """Whether mean losses gave the gradients of these leaves alone, SGD steps by them, and nothing scaled any."""
    looks = recording.optimizer_looks()
    if not looks or any(look.name != PROPORTIONAL for look in looks):
        return False
    calls = [call for call in recording.backwards() if call.number in recording.graph_sizes()]
    first = calls[:_LOOKS]
    return (
        len(first) == _LOOKS
        and all(call.nested_in is None and not call.create_graph for call in calls)
        and all(_is_a_mean(recording.graph(call.number), leaves) for call in first)
        and not scales_gradients(recording, calls)
    )


def _is_a_mean(graph: Graph, leaves: frozenset[str]) -> bool:
    """Whether additions alone lead from the loss to a mean, and all leaves are known to be summed."""
    return {node.leaf for node in graph.nodes if node.leaf} <= leaves and leads_to_a_mean(graph, graph.roots[:1])


def leads_to_a_mean(graph: Graph, starts: Sequence[int]) -> bool:
    """Whether additions alone lead from some nodes to a mean."""
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    waiting, seen = list(starts), set(starts)
    for at in waiting:  # grows while it is walked
        name = graph.nodes[at].name
        if _MEANS.fullmatch(name):
            return True
        if name.startswith(_ADDS):
            new = [one for one in onward.get(at, ()) if one not in seen]
            seen.update(new)
            waiting += new
    return False


def scales_gradients(recording: Recording, calls: list[Backward]) -> bool:
    """Whether an operator multiplies or divides between one of these backward calls and the step, or inside of one by a
    hook."""
    own = {call.number: call.site for call in calls}
    waits = False
    for block in recording.blocks():
        for one in block.operations:
            is_step = any(_STEPS in site.file for site in one.stack[:6])
            waits = block.backward in own or (waits and not is_step)
            scales = base_name(one.name) in _SCALES and not is_step
            if scales and block.backward is not None and block.backward in own and one.site != own[block.backward]:
                return True
            if scales and waits and block.backward is None:
                return True
    return False


def is_known_in_source(recording: Recording) -> bool:
    """Whether the source scales numbers that no operator computes by the number of ranks, or names another reduction
    than the sum of means."""
    computed = {(one.site.file, one.site.line) for block in recording.blocks() for one in block.operations if one.site}
    for file in sorted(recording.sources()):
        if _OTHERWISE.search(recording.source(file) or ""):
            return True
        for node in nodes_of(tree_of(recording, Site(file, 1))):
            if _scales_by_their_number(node) and (file, getattr(node, "lineno", 0)) not in computed:
                return True
    return False


def _scales_by_their_number(node: ast.AST) -> bool:
    """A product or quotient of numbers, not of texts or paths, in which the number of ranks stands."""
    if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Div | ast.Mult):
        return False
    inside = list(ast.walk(node))
    if any(
        isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and type(one.value) is str) for one in inside
    ):
        return False
    return names_their_number(node)
