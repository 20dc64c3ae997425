"""GS730, GS731, GS732: where the first NaN or Inf that did harm was born."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.deductions.lines.settings import setting_line
from gradscope.explain.deductions.numbers.masked_afterwards import SELECTS, MaskedAfterwards, masked_afterwards
from gradscope.explain.deductions.numbers.nonfinite_arrivals import FirstNonfinite, first_nonfinite, node_of
from gradscope.explain.deductions.numbers.nonfinite_sources import (
    difference_line,
    gaps_read_line,
    masking_line,
    root_line,
)
from gradscope.explain.deductions.numbers.weight_growth import PRODUCTS, has_diverged, has_overflown
from gradscope.explain.deductions.numbers.wrapped_numbers import wrapped_line
from gradscope.explain.deductions.steps.probing_backwards import lost_by_probes
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import CTC_LOSSES
from gradscope.explain.evidence.optimizers import creation, is_in_step, stepped_at
from gradscope.explain.findings.sizes.nonfinite_reasons import reason
from gradscope.model.birth import Birth
from gradscope.model.finding import Related
from gradscope.model.graph import Backward, Graph, Node
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_site

_BEFORE = "Take out what is missing before it is computed with, from inputs and targets alike: 0 times NaN is NaN."
_LATE = (
    "data that holds NaN goes in here, and what comes of it is masked afterwards, which is too late for its backward"
)
_SIGNED = "Store what may be below zero as int32 or float32, and look why it is below zero."
_EPS = """give the optimizer an eps that this dtype can hold (1e-4 for float16), or keep parameters in float32 and
use torch.autocast"""


def non_finite_forward(case: Case) -> Iterator[Cause]:
    """What it flags: an operator of the forward gives NaN or Inf for finite numbers, and the loss is not finite.

    Why: some functions have no finite value at some arguments: log and division at 0, sqrt and log below 0, exp of a
    large number, the mean of nothing, the standard deviation of one value, a softmax over a row that is masked as a
    whole, a loss whose labels are all ignored. What is computed from a NaN is NaN, up to the loss, and its backward
    makes every gradient, and with the next step of the optimizer every weight, NaN.

    Wrong:
        probability = torch.sigmoid(logits)
        loss = -(target * probability.log()).mean()

    Right:
        loss = -(target * torch.nn.functional.logsigmoid(logits)).mean()

    Do instead: keep the argument inside the function's domain before the call (clamp, an epsilon inside the root or
    the denominator), use the function that is made for it (logsigmoid, cross_entropy on logits, logsumexp, xlogy),
    skip a batch that has nothing to average, and give a CTC loss zero_infinity=True or transcripts that fit.

    How it is found: the result of operators that can do this is summed as they run. When a sum is not finite, the
    operator's arguments are looked at: finite ones make it the birth. Of a root or a logarithm of a difference with a
    square, which is negative, the line is that of the difference. From there on the step's operators are followed
    to the loss. An Inf that never reaches a loss or a gradient, such as a mask of -inf, is no fault. On an accelerator
    nothing waits for a result: its largest magnitude is read after the backward, so that the operator and its line are
    known, but no values, and the finding is likely, not certain.
    """
    found = first_nonfinite(case)
    if found is None or found.birth is None or found.birth.came_in or found.birth.backward is not None:
        return
    if found.arrival is not None and found.arrival.leaf is not None:
        return  # the loss is finite: a derivative is to blame
    if has_diverged(case) or _is_thrown_away(case, found.birth):
        return  # something has grown until it overflowed
    yield _without_eps(case, found) or _masked(case, found, _chosen(case, found, found.birth))


def _is_thrown_away(case: Case, birth: Birth) -> bool:
    """Whether a product of weights that a probing backward has thrown far away is too large, or Inf less Inf: only on a
    device are products looked at."""
    is_product = birth.device is not None and birth.base in PRODUCTS
    return (is_product or has_overflown(case)) and lost_by_probes(case)


def non_finite_derivative(case: Case) -> Iterator[Cause]:
    """What it flags: the loss is finite, but a derivative is not, and gradients become NaN or Inf.

    Why: a function can be finite where its derivative is not: sqrt and fractional powers at 0, acos and asin at 1, a
    norm written as sqrt(sum(x ** 2)) at 0. The same happens in a branch that torch.where or a mask does not take:
    both branches are computed and differentiated, and the gradient 0 of the branch that is not taken times an
    infinite derivative is NaN.

    Wrong:
        y = torch.where(x > 0, x.sqrt(), 0.0)

    Right:
        safe = torch.where(x > 0, x, 1.0)
        y = torch.where(x > 0, safe.sqrt(), 0.0)

    Do instead: move the argument away from the point where the derivative is infinite before the call: an epsilon
    inside the root, a clamp to less than 1 before acos, torch.linalg.vector_norm in place of a root of squares; with
    torch.where, replace the argument by a harmless one in the branch that is not taken, inside as well as outside.

    How it is found: operators that divide, invert or take powers are looked at in the backward, too. The node that was
    evaluated when the first of them gave NaN or Inf belongs to the line of the forward. After the backward the
    gradients of the leaves tell whether it reached them. Gradients that a GradScaler looks at are its business. Of data
    with NaN that goes through layers and is masked behind them, the line is the one that hands it over.
    """
    found = first_nonfinite(case)
    if found is None:
        return
    if found.birth is None or found.birth.came_in:
        yield from _unseen(case, found)
        return
    birth = found.birth
    reached = found.arrival is None or found.arrival.leaf is not None
    place = node_of(case, birth)
    if place is None:
        if reached and found.arrival is not None and birth.backward is None:
            hidden = f"{birth.masked or 'an operator'} hides that in the forward, but its derivative is still computed"
            yield _masked(case, found, _cause(found, birth, f"{reason(birth)}; {hidden}: {found.where}", birth.site))
        return
    graph, node = place
    site, related = _place(case, birth, node)
    selector = _selector(graph, node)
    told = f"the derivative of {_forward_name(node)} is not finite: {reason(birth)}, in {node.name}"
    if selector is not None:
        told += f"; {selector.name} does not take this branch, but its derivative is still computed"
        related = (*related, Related("masked_by", selector.site, selector.name))
    root = root_line(case, birth, node)
    if root is not None and root != site:
        told += ", and so is that of the root which is zero here"
        site, related = root, (*related, Related("differs_at", site, _forward_name(node)))
    yield _cause(found, birth, f"{told}; {found.where}", site, related, node)


def _without_eps(case: Case, found: FirstNonfinite) -> Cause | None:
    """The line that made the optimizer whose step divided by zero: what it adds to the root of the squares is gone."""
    birth = found.birth
    divisor = None if birth is None else birth.argument_named("tensor2", "other")
    if birth is None or divisor is None or divisor.value != 0 or not is_in_step(birth.stack):
        return None
    built = creation(case, stepped_at(case, birth.site))
    made = setting_line(case, built, "eps") or user_site(built)
    if made is None:
        return None
    told = f"the step of this optimizer divides by 0, since its eps is 0 in the parameters' dtype: {reason(birth)}"
    cause = _cause(found, birth, f"{told}; {found.where}", made, (Related("called_at", birth.site, "step"),))
    return replace(cause, advice=_EPS)


def _chosen(case: Case, found: FirstNonfinite, birth: Birth) -> Cause:
    """With the line to edit: where a module was built one of whose settings would have kept the result finite."""
    message = f"{reason(birth)}; {found.where}"
    wrapped = wrapped_line(case, birth)
    if wrapped is not None:
        site, kind = wrapped
        told = f"numbers are stored without a sign here, as {kind}, and one below zero comes back at its end: {message}"
        return replace(
            _cause(found, birth, told, site, (Related("first_nonfinite_at", birth.site, birth.op),)),
            certain=False,
            advice=_SIGNED,
        )
    difference = difference_line(case, birth)
    if difference is not None and difference != birth.site:
        told = f"{reason(birth)}, of a difference with a square, which has fewer digits than the square and may be "
        told += f"negative; {found.where}"
        return _cause(found, birth, told, difference, (Related("first_nonfinite_at", birth.site, birth.op),))
    built = built_at(case, birth.module) if birth.base in CTC_LOSSES else None
    if built is None or birth.site is None or built == birth.site:
        return _cause(found, birth, message, birth.site)
    return _cause(found, birth, message, built, (Related("called_at", birth.site, birth.op),))


def _masked(case: Case, found: FirstNonfinite, cause: Cause) -> Cause:
    """The same with the line that fills in -inf, where the operator took a row of nothing else."""
    filled = None if found.birth is None else masking_line(case, found.birth)
    if filled is None or filled == cause.site:
        return cause
    born = Related("first_nonfinite_at", cause.site, cause.op or "")
    return replace(
        cause, site=filled, related=(born, *cause.related), message=f"-inf is filled in here: {cause.message}"
    )


def _place(case: Case, birth: Birth, node: Node) -> tuple[Site | None, tuple[Related, ...]]:
    """The line to edit: the node's in the forward, but for a custom Function the one in its own backward."""
    call = None if birth.backward is None else case.backwards_by_number().get(birth.backward)
    if node.function is None or birth.site is None or call is None or birth.site == call.site:
        return node.site, ()
    return birth.site, (Related("applied_at", node.site, node.function.name),)


def non_finite_input(case: Case) -> Iterator[Cause]:
    """What it flags: a NaN came in from outside: with the data, or in a parameter that nobody initialised.

    Why: torch.empty gives whatever the memory held; a file, a division in the preprocessing or a missing value gives
    NaN in a batch. Everything that is computed from it is NaN.

    Wrong:
        self.scale = nn.Parameter(torch.empty(width))

    Right:
        self.scale = nn.Parameter(torch.ones(width))

    Do instead: initialise the parameter; look for the NaN where the data is made (torch.isnan(batch).any()), and drop
    or replace it there.

    How it is found: the first operator that was given a NaN which no operator before it has made. Its line is where the
    NaN comes in; the argument's name is the parameter's where it is one. A NaN that a line of the program puts in and
    another one asks for stands for what is missing: the line is the first that computes with it.
    """
    found = first_nonfinite(case)
    if found is None or found.birth is None or not found.birth.came_in:
        return
    birth = found.birth
    if has_diverged(case) or _last_update(case, found) is not None:
        return
    given = birth.argument in [one.name for one in birth.given]
    what = f"the argument {birth.argument} of {birth.base}" if given else f"{birth.argument}"
    kind = "NaN" if birth.nan else "Inf"
    gaps = gaps_read_line(case, birth)
    masked = None if gaps is None else _masked_in_backward(case, found)
    if gaps is not None and masked is not None and masked.site != gaps:
        late = _cause(found, birth, f"{_LATE}; {found.where}", masked.site, _related(masked, gaps, kind))
        yield replace(late, advice=_BEFORE)
        return
    if gaps is not None:
        told = "NaN stands for what is missing here, as isnan() is asked elsewhere, and this line computes with it"
        yield _cause(found, birth, f"{told}; {found.where}", gaps, (Related("first_nonfinite_at", birth.site, kind),))
        return
    told = f"{what} holds {kind} already when this line reads it, and nothing before it made that"
    place = node_of(case, birth)
    if place is not None and place[1].function is None and place[1].site is not None:
        node = place[1]
        told += f"; the loss leaves out what came of it, {node.name} does not; {found.where}"
        yield replace(_cause(found, birth, told, node.site, node=node), advice=_BEFORE)
        return
    if not birth.entered:
        told = f"this line puts in {kind}"
    yield _cause(found, birth, f"{told}; {found.where}", birth.site, tensor=None if given else birth.argument)


def _cause(
    found: FirstNonfinite,
    birth: Birth,
    message: str,
    site: Site | None,
    related: tuple[Related, ...] = (),
    node: Node | None = None,
    tensor: str | None = None,
) -> Cause:
    masked = user_site(birth.masked_by)
    if masked is not None and masked != site and not related:
        related = (*related, Related("masked_by", masked, birth.masked or ""))
    module = node.module if node is not None else birth.module
    return Cause(
        message=message,
        site=site,
        related=related,
        fails=found.fails,
        certain=found.arrival is not None and birth.device is None,
        node=None if node is None else node.id,
        op=birth.op,
        tensor=tensor or (found.arrival.leaf if found.arrival is not None else None),
        module=None if module is None else module.label,
        backward=None if found.arrival is None else found.arrival.backward,
    )


def _unseen(case: Case, found: FirstNonfinite) -> Iterator[Cause]:
    """No operator was seen to make it: the graph still tells which gradient it reached first."""
    if has_diverged(case):
        return
    backward = _last_update(case, found)
    leaves: tuple[str | None, ...] = ()
    told = found.where
    if backward is not None and found.birth is not None:
        leaves = (found.birth.argument,)
        told = f"{found.birth.argument} holds NaN after the update that follows backward {backward.number}"
    elif found.arrival is not None and found.birth is None:
        backward, leaves = case.backwards_by_number().get(found.arrival.backward), found.leaves
    if backward is None or not leaves:
        return
    graph = case.graph(backward.number)
    reached = [edge.source for edge in graph.edges if graph.nodes[edge.target].leaf in leaves]
    masked = masked_afterwards(case, graph, leaves) if reached else None
    if reached:
        node = max((graph.nodes[one] for one in reached), key=lambda node: node.seq_nr or 0)
        born = f"{told}: it comes through {node.name}, and no operator that was looked at has made it"
        yield Cause(
            born if masked is None else f"{_LATE}; {told}",
            node.site if masked is None else masked.site,
            () if masked is None else _related(masked, node.site, node.name),
            certain=False,
            advice="" if masked is None else _BEFORE,
            node=node.id,
            op=node.op,
            tensor=leaves[0],
            module=None if node.module is None else node.module.label,
            backward=backward.number,
        )


def _masked_in_backward(case: Case, found: FirstNonfinite) -> MaskedAfterwards | None:
    """What is masked on the way to the leaves of the first backward whose gradients are not finite."""
    arrival = found.arrival
    if arrival is None or not found.leaves or arrival.backward not in case.graph_sizes():
        return None
    return masked_afterwards(case, case.graph(arrival.backward), found.leaves)


def _related(masked: MaskedAfterwards, site: Site | None, what: str) -> tuple[Related, ...]:
    """The mask, and the line in a layer that computes with the NaN."""
    inside = (Related("first_nonfinite_at", site, what),) if site != masked.site else ()
    mask = masked.mask
    return (
        (*inside, Related("masked_by", mask.site, base_name(mask.operation.name)))
        if mask.site != masked.site
        else inside
    )


def _last_update(case: Case, found: FirstNonfinite) -> Backward | None:
    """The last backward that gave a gradient to a leaf which holds a NaN now; None where there is no such leaf."""
    birth, arrival = found.birth, found.arrival
    if birth is None or arrival is None or not birth.came_in or arrival.leaf is not None:
        return None
    for call in reversed(case.backwards()):
        is_earlier = call.number < arrival.backward and call.exception is None and call.kind == "backward"
        if is_earlier and call.nested_in is None and call.number in case.graph_sizes():
            reaches = any(node.leaf == birth.argument for node in case.graph(call.number).nodes)
            return call if reaches else None
    return None


def _forward_name(node: Node) -> str:
    return node.op.removeprefix("aten.").partition(".")[0] if node.op else node.name.partition("Backward")[0]


def _selector(graph: Graph, node: Node) -> Node | None:
    """The node of a where or a mask through which the gradient comes to this one, a few nodes up at most."""
    users: dict[int, list[int]] = {}
    for edge in graph.edges:
        users.setdefault(edge.target, []).append(edge.source)
    front = [node.id]
    for _ in range(6):
        front = [user for one in front for user in users.get(one, ())]
        for one in front:
            if graph.nodes[one].name.startswith(SELECTS):
                return graph.nodes[one]
    return None
