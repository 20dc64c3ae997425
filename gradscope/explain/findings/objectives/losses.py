"""GS80x: losses that are not what they seem: a softmax too much, a broadcast, a part that counts twice."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.outer_products import outer
from gradscope.explain.deductions.gradients.paired_samples import paired_samples
from gradscope.explain.deductions.gradients.square_targets import has_square_targets
from gradscope.explain.deductions.gradients.summed_up import is_summed_up
from gradscope.explain.deductions.gradients.widened_targets import WidenedTarget, widened_targets
from gradscope.explain.deductions.lines.handed_operands import handed_at
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.deductions.numbers.doubled_activations import Row, doubled
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.explain.findings.objectives.divergences import negative_divergence
from gradscope.explain.findings.objectives.squeezed_again import squeezed_again
from gradscope.functions.source import last_name
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Backward, Graph
from gradscope.model.notice import TWO_AHEAD
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site
from gradscope.model.training import STEP, ZERO_GRAD

_TIMES = 3
# What takes a softmax or sigmoid itself, or wants a logarithm: the node, the place of what it reads, what must not come
# before that, why.
_WANTS_LOGITS: tuple[Row, ...] = (
    ("LogSoftmaxBackward", 0, ("SoftmaxBackward",), "the loss takes the softmax itself"),
    ("NllLossBackward", 0, ("SoftmaxBackward",), "the loss wants logarithms"),
    ("NllLoss2DBackward", 0, ("SoftmaxBackward",), "the loss wants logarithms"),
    ("MulBackward", 1, ("SoftmaxBackward", "SigmoidBackward"), "kl_div wants logarithms"),  # what it makes of both
    ("SubBackward", 1, ("SoftmaxBackward", "SigmoidBackward"), "kl_div wants logarithms"),  # with log_target
    (
        "BinaryCrossEntropyWithLogitsBackward",
        0,
        ("SigmoidBackward", "HardsigmoidBackward", "SoftmaxBackward"),
        "the loss takes the sigmoid itself",
    ),
)
_WANTS_SIGNS: tuple[Row, ...] = (
    ("LogSoftmaxBackward", 0, ("ReluBackward",), "the loss makes a class unlikely by a negative one"),
    ("BinaryCrossEntropyWithLogitsBackward", 0, ("ReluBackward",), "the loss takes a negative one for no"),
)
_WEIGHTS = ("mul", "div")
_ROWS = ("squeeze", "view", "reshape", "_unsafe_view", "select")


def softmax_twice(case: Case) -> Iterator[Cause]:
    """What it flags: probabilities where a loss expects logits (or their logarithms).

    Why: cross_entropy takes the softmax of what it is given. Of probabilities, which lie between 0 and 1, that is
    nearly uniform: the loss cannot come near zero, and the gradients are small. It falls a little, and stays there.

    Wrong:
        p = torch.softmax(net(x), dim=1)
        loss = torch.nn.functional.cross_entropy(p, y)

    Right:
        loss = torch.nn.functional.cross_entropy(net(x), y)

    Do instead: hand logits to cross_entropy and binary_cross_entropy_with_logits; take softmax or sigmoid where
    probabilities are shown. kl_div and nll_loss want log_softmax.

    How it is found: the loss's node comes directly after that of a softmax or sigmoid, but for what only shows their
    values in another form; of the graphs of each backward call's line, the first and the last unlike ones are looked
    at. Or the loss is a kl_div, and negative each time. Or a sigmoid comes directly after another, or after a
    softmax: a hint, unless binary_cross_entropy reads what it gives.
    """
    told = set()
    for graph, node, other, why in doubled(case, _WANTS_LOGITS):
        site, called = chosen_at(case, other)
        if site is not None and site not in told:
            told.add(site)
            yield Cause(
                f"a loss is computed of probabilities: {why}",
                site,
                (*called, *((Related("called_at", node.site, node.name),) if node.site not in (None, site) else ())),
                node=other.id,
                backward=graph.backward.number,
            )
    yield from () if told else negative_divergence(case)
    yield from () if told else squeezed_again(case)


def scores_cut_off(case: Case) -> Iterator[Cause]:
    """What it flags: a loss that takes scores of either sign is given the output of a ReLU.

    Why: a class is made unlikely by a negative score. What a ReLU gives cannot be below zero: all wrong classes share
    the score 0 at best, a binary score never says less than one half, and a class whose scores are all negative gets
    no gradient at all.

    Wrong:
        return torch.relu(self.head(x))             # and then cross_entropy

    Right:
        return self.head(x)

    Do instead: leave the activation out behind the last layer.

    How it is found: the loss's node comes directly after that of a ReLU. A hint: a model may be
    meant to have no negative scores.
    """
    told = set()
    for graph, _node, other, why in doubled(case, _WANTS_SIGNS):
        site, called = chosen_at(case, other)
        if site is not None and site not in told:
            told.add(site)
            yield Cause(
                f"scores are cut off at zero: {why}", site, called, node=other.id, backward=graph.backward.number
            )


def broadcast_loss(case: Case) -> Iterator[Cause]:
    """What it flags: a column of predictions, [N, 1], against a row of targets, [N], which gives [N, N] differences.

    Why: broadcasting compares each prediction with each target. The mean of that is smallest where all predictions are
    the mean of the targets, so that the model learns a constant.

    Wrong:
        loss = (net(x) - y).pow(2).mean()  # [64, 1] and [64]

    Right:
        loss = (net(x).squeeze(-1) - y).pow(2).mean()

    Do instead: give both the same shape, by squeeze(-1) or unsqueeze(-1).

    How it is found: the shapes of what an operator reads and makes, where one side is a column, or has such a dimension
    behind that of the samples, [N, 1, H, W], and the other has not, [N, H, W]; one of them was computed of as many
    samples, and the other is data. The operator compares, weighs, chooses (where, masked_fill) or is a distribution's,
    and all that a loss takes of the pairs is a sum, in which each counts alike. Or both have no gradient, as a return
    and a critic's value, and what comes out weighs each sample's loss; or they are the target of another column. Not
    where each pair has a target of its own, a column was made in so many words or is held against itself turned, or
    pairs are masked, scored or weighted. The line is the call that gave a function of the program both, where it takes
    them as they are and other functions do not make a row of the column themselves.
    Or a loss of torch's expands a column of predictions to targets with more columns: a hint, unless these are as wide
    as the log_prob() of each part of a sample, which has met a column on its way to them; the line is then that one.
    """
    flow = dataflow(case)
    told = set()
    for at, operation in enumerate(flow.operations):
        pair = outer(flow, at, operation) if operation.backward is None and len(operation.reads) == 2 else None
        if pair is None or operation.site in told or has_square_targets(flow, operation):
            continue
        if base_name(operation.operation.name) in _WEIGHTS and is_summed_up(flow, operation):
            message = f"{pair.shapes}: each sample is weighted with the weights of all"
        elif pair.is_compared:
            message = f"{pair.shapes}: each prediction is compared with each target"
        else:
            continue
        told.add(operation.site)
        yield _told(case, message, operation)
    for pairs in paired_samples(flow):
        if pairs.operation.site not in told and not has_square_targets(flow, pairs.operation):
            told.add(pairs.operation.site)
            message = f"{pairs.shapes}: {pairs.meaning}"
            yield _told(case, message, pairs.operation)
    for one in widened_targets(flow):
        place = one.density or one.operation.site
        if place not in told and one.operation.site not in told:
            told.update((place, one.operation.site))
            yield _widened(case, one)


def _widened(case: Case, found: WidenedTarget) -> Cause:
    """The line whose density is not summed over the parts of a sample; else that of the loss, as a hint."""
    if found.density is None:
        message = f"{found.shapes}: each prediction is compared with {found.targets[1]} targets, and learns their mean"
        return replace(_told(case, message, found.operation), severity=Severity.INFO, certain=False)
    return Cause(
        f"this gives a density for each of {found.targets[1]} parts of a sample, and is not summed over them: a column "
        f"that it meets is broadcast, and a loss compares {found.shapes}",
        found.density,
        (Related("computed_at", found.operation.site, "the loss"),),
        certain=False,
        advice="Sum it over the parts, log_prob(x).sum(-1, keepdim=True), or take Independent(distribution, 1).",
        op=found.operation.operation.name,
    )


def _told(case: Case, message: str, operation: FlowOperation) -> Cause:
    """The line of an operator, or of the call that gave its function both operands as they are: unless the program has
    its functions give what they take their shapes."""
    handed = handed_at(case, operation.operation)
    if handed is not None and _is_shaped_by_others(case, operation, handed):
        called = (Related("called_at", handed, "gives it both"),)
        return Cause(message, operation.site, called, op=operation.operation.name)
    inside = (Related("computed_at", operation.site, "broadcasts"),) if handed is not None else ()
    return Cause(message, handed or operation.site, inside, op=operation.operation.name)


def _is_shaped_by_others(case: Case, operation: FlowOperation, handed: Site) -> bool:
    """Whether another function that takes the same column makes a row of it itself."""
    flow = dataflow(case)
    known = {site.function for site in operation.operation.stack}
    for read in operation.reads:
        shape = flow.shape(read.tensor)
        for one in (flow.operations[at] for at in flow.readers.get(read.tensor, ())) if 1 in shape[1:] else ():
            is_a_row = bool(one.makes) and flow.shape(one.makes[0]) == shape[:1] + shape[2:]
            own = next((site for site in one.operation.stack if site.origin is Origin.USER), None)
            is_inside = own is not None and own.function not in known
            if one.backward is None and base_name(one.operation.name) in _ROWS and is_a_row and is_inside:
                return handed.function in {site.function for site in one.operation.stack}
    return False


def added_twice(case: Case) -> Iterator[Cause]:
    """What it flags: a part of a loss whose backward runs by itself, and again as a part of the whole.

    Why: backward() adds. The part's gradients are in .grad twice, as if its weight were twice as large.

    Wrong:
        reconstruction.backward(retain_graph=True)
        (reconstruction + divergence).backward()

    Right:
        (reconstruction + divergence).backward()

    Do instead: call backward() once, of the sum; or of each part once.

    How it is found: the root of a backward that kept its graph is a node of a later one's graph, and neither a step nor
    zero_grad() came between them.
    """
    sizes = case.graph_sizes()
    lines: dict[object, list[tuple[Backward, Backward]]] = defaultdict(list)
    for timeline in timelines(case):
        pending: list[Backward] = []
        for moment in timeline.moments:
            call = moment.backward
            if call is None:
                pending = [] if pending and moment.has(STEP, ZERO_GRAD) else pending
            elif call.number in sizes:
                for earlier in pending:
                    if _contains(case.graph(call.number), case.graph(earlier.number)):
                        lines[earlier.site].append((earlier, call))
                pending = [*pending, call] if call.keep_graph and call.inputs is None else pending
    for found in lines.values():
        if len(found) >= _TIMES:
            earlier, later = found[0]
            yield Cause(
                "what this backward gives is given again by the one of the whole: it counts twice",
                earlier.site,
                (Related("second_backward_at", later.site, "backward"),),
                backward=earlier.number,
            )


def labels_two_ahead(case: Case) -> Iterator[Cause]:
    """What it flags: a language model whose labels lie two tokens ahead of what it reads: they are shifted twice.

    Why: a model that shifts its labels itself wants them as they are read. From labels that the data set has shifted
    already it learns to predict the token after the next. The loss falls as usual, and generated text skips words.

    Wrong:
        batch = {"input_ids": tokens[:-1], "labels": tokens[1:]}
        loss = cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    Right:
        batch = {"input_ids": tokens, "labels": tokens.clone()}
        loss = cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    Do instead: shift in one place, in the data or in the model.

    How it is found: in the first step, on a CPU, the labels of a cross entropy are the tokens that an embedding read,
    each two places further on, no loss has labels that are one place ahead, and the first predictions are not left out
    as well. A hint.
    """
    for notice in case.notices():
        if notice.what == TWO_AHEAD and notice.site is not None and not _cuts_predictions(case, notice.site):
            message = "the labels of this loss are the tokens that were read, two places ahead: they are shifted twice"
            shifts = _shifted_at(case, notice.site)
            called = (Related("called_at", notice.site, "the loss"),) if shifts not in (None, notice.site) else ()
            yield Cause(message, shifts or notice.site, called)


def _shifted_at(case: Case, loss: Site) -> Site | None:
    """The last line before the end of a loss, in its function, that leaves a first element out."""
    statement = syntax(case).statement(loss)
    end = loss.line if statement is None else statement.end_lineno or loss.line
    lines = [
        node.lineno
        for node in syntax(case).nodes(loss.file)
        if isinstance(node, ast.Subscript) and node.lineno <= end and _leaves_first_out(node.slice)
    ]
    sites = [syntax(case).site(loss.file, line) for line in sorted(set(lines))]
    return next((site for site in reversed(sites) if site.function == loss.function), None)


def _cuts_predictions(case: Case, loss: Site) -> bool:
    """Whether a loss leaves the first predictions out as well: then its labels are one place ahead of the others."""
    statement, around = syntax(case).parsed(loss.file).whole_statements.get(loss.line), syntax(case).function(loss)
    calls = [one for one in ast.walk(statement or ast.Module([], [])) if isinstance(one, ast.Call) and one.args]
    used = {one.id for call in calls for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)}
    given = [one.value for one in ast.walk(around or ast.Module([], [])) if _gives_alone(one, used)]
    expressions = [
        call.args[0] for call in calls if "loss" in last_name(call.func) or "entropy" in last_name(call.func)
    ]
    found = (node for one in (*expressions, *given) for node in ast.walk(one))
    return any(isinstance(node, ast.Subscript) and _leaves_first_out(node.slice) for node in found)


def _gives_alone(node: ast.AST, names: set[str]) -> TypeGuard[ast.Assign]:
    """`predictions = ...` of one of these names."""
    if not isinstance(node, ast.Assign):
        return False
    return all(isinstance(one, ast.Name) and one.id in names for one in node.targets)


def _leaves_first_out(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(one, ast.Slice)
        and isinstance(one.lower, ast.Constant)
        and one.lower.value == 1
        and one.upper is None
        for one in parts
    )


def _contains(whole: Graph, part: Graph) -> bool:
    """Whether the root of a graph is a node of another one, and not its root."""
    roots = {(part.nodes[one].seq_nr, part.nodes[one].name, part.nodes[one].site) for one in part.roots}
    own = set(whole.roots)
    inside = {(node.seq_nr, node.name, node.site) for node in whole.nodes if node.id not in own}
    return bool(roots) and all(one[0] is not None for one in roots) and roots <= inside
