"""Whether losses are means, each of a rank's own, and whether anything scales their gradients before a step."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from gradscope.model.graph import Backward, Graph
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.deciding import names_their_number
from gradscope.ranks.source.syntax import nodes_of, tree_of
from gradscope.store.reader import Recording

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
_OF_A_LOSS = re.compile(r"\breduction\s*=\s*['\"]sum['\"]")
PROPORTIONAL = "SGD"  # to the gradient: a step of Adam is as large for one that is twice as large
_STEPS = "torch/optim"
_LOOKS = 2  # at least
_ALIKE = 1e-3  # relative


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


def is_known_in_source(recording: Recording, *, of_sums: bool = False) -> bool:
    """Whether the source scales numbers that no operator computes by the number of ranks, or names another reduction
    than the sum of means; `of_sums`: losses may be sums."""
    computed = {(one.site.file, one.site.line) for block in recording.blocks() for one in block.operations if one.site}
    for file in sorted(recording.sources()):
        source = recording.source(file) or ""
        if _OTHERWISE.search(_OF_A_LOSS.sub("", source) if of_sums else source):
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
