"""GS841: terms of a loss that train nothing, because no loss contains them or because they are detached in it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator
from itertools import groupby
from operator import attrgetter

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.lost_parts import detached_terms
from gradscope.explain.deductions.gradients.measured_losses import is_measured
from gradscope.explain.deductions.gradients.terms_as_numbers import terms_as_numbers
from gradscope.explain.deductions.gradients.terms_from_outside import terms_from_outside
from gradscope.explain.deductions.gradients.unused_slopes import unused_slopes
from gradscope.explain.deductions.memory.shared_subgraph import lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, leaves_torch
from gradscope.explain.evidence.source_names import carries, function_at, targets
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.explain.evidence.words import line_of
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site, Stack, user_frames

_TIMES = 3
_GRAPHS = 8  # that are looked at: the first ones
_TERMS = re.compile(r"loss|penalty|\bkl\b|kl_|_kl|_?reg$|^reg|regulari|commit|consistency|auxil|entropy")


def term_left_out(case: Case) -> Iterator[Cause]:
    """What it flags: a term of a loss that is computed with gradients in each step and that trains nothing.

    Why: what is not part of what backward() is called on trains nothing. A term that is printed and never added looks
    as if it did, and one that is detached before it is added changes the value of the loss and no gradient.

    Wrong:
        kl_loss = beta * kl(q, p)
        loss = reconstruction_loss
        loss.backward()

    Right:
        kl_loss = beta * kl(q, p)
        loss = reconstruction_loss + kl_loss
        loss.backward()

    Do instead: add it, or compute it under torch.no_grad() where it is only to be seen.

    How it is found: a single number that requires grad and that the program names like a term of a loss goes into no
    operator that a loss comes from, in three steps or more; or a single number that parameters led to is detached and
    added to a loss, and no backward reaches it in another way; or .item() made a number of Python of it, and the source
    adds what that is called to the loss. Or grad(create_graph=True) gave gradients in most steps, and all that became
    of them is a number that no loss contains. Or a tensor that was made of no other is added to the losses of two steps
    or more, and the source shows that numpy or Python computed it of values that were taken out of a result of that
    step; not where such a value is a factor too, or something computed beside it is one. The loss itself of other data
    is a measure, where it is called a test or first comes behind a backward call; so is what a function computes that
    calls eval() and no backward(). A hint: a term may be there to be looked at only.
    """
    numbers = terms_as_numbers(case)
    for site, added in numbers.items():
        related = (Related("called_at", added, "adds the number"),) if added != site else ()
        yield Cause("this makes a number of a term before it is added to the loss: it trains nothing", site, related)
    yield from _from_outside(case, numbers)
    never = list(_never_added(case, {*numbers, *(one.taken for one in terms_from_outside(case))}))
    yield from never
    yield from _detached(case)
    for slope in unused_slopes(case) if not never else ():
        yield Cause(
            f"no loss contains what {line_of(slope.made, slope.loss)} makes of gradients that were given a graph "
            "(create_graph=True)",
            slope.loss,
            () if slope.loss == slope.made else (Related("made_at", slope.made, "computes the term"),),
        )


def _from_outside(case: Case, told: Container[Site]) -> Iterator[Cause]:
    for one in terms_from_outside(case):
        if one.taken not in told:
            places = {"made_at": (one.back, "makes a tensor of it"), "called_at": (one.added, "adds it")}
            related = {site: Related(role, site, text) for role, (site, text) in places.items() if site is not None}
            related.pop(one.taken, None)
            message = "this takes out of torch what a term of the loss is computed from: the term trains nothing"
            yield Cause(message, one.taken, tuple(related.values()))


def _detached(case: Case) -> Iterator[Cause]:
    flow = dataflow(case)
    times = Counter(flow.operations[cut.operation].site for cut in detached_terms(case))
    for site, count in times.items():
        if count >= _TIMES and site is not None:
            yield Cause("this term is detached before it is added to the loss: it trains nothing", site)


def _never_added(case: Case, told: Container[Site]) -> Iterator[Cause]:
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    steps: dict[Site, Site] = {}
    made_by: dict[Site, FlowOperation] = {}
    for operation, root in _unused_terms(case, flow):
        if any(flow.operations[at].site in told for made in operation.makes for at in flow.readers.get(made, ())):
            continue
        site = next((one for one in _given_on(case, operation.operation.stack) if _is_a_term(case, one)), None)
        if site is not None:
            times[site] += 1
            steps.setdefault(site, root)
            made_by.setdefault(site, operation)
    for site, count in times.items():
        if count < _TIMES or is_measured(case, made_by[site], _names(case, site)):
            continue
        if not _is_visited(case, made_by[site].operation):
            dropped = _dropped_result(case, site)
            place = dropped or (site if _is_thrown_away(case, site) else steps[site])
            message = f"no loss contains what {line_of(site, place)} computes with gradients"
            if dropped is not None:
                message += ": what this Function makes of it is thrown away"
            yield Cause(message, place, () if place == site else (Related("made_at", site, "computes the term"),))


def _names(case: Case, site: Site) -> set[str]:
    """What a line calls what it computes."""
    _, statement = function_at(case, site) or (None, None)
    return set() if statement is None else set(targets(statement))


def _unused_terms(case: Case, flow: RecordedDataflow) -> Iterator[tuple[FlowOperation, Site]]:
    """What made numbers with a graph that no backward starts from, each with the line that made its step's loss."""
    runs = {run: list(ones) for run, ones in groupby(flow.operations, attrgetter("run"))}
    unused: dict[int, list[FlowOperation]] = {}
    ends = _ends_of_steps(case, flow)
    for root in flow.roots:
        makers = [at for at in flow.makers.get(root.tensor, ()) if flow.operations[at].backward is None]
        line = flow.operations[makers[-1]].site if makers else None
        if line is not None and root.requires_grad:
            run = flow.operations[makers[-1]].run
            if run not in unused:
                is_seen = not ends or _is_seen_to_the_end(run, runs, ends)
                unused[run] = [one for one in runs[run] if _is_unused_number(flow, one)] if is_seen else []
            yield from ((one, line) for one in unused[run])


def _ends_of_steps(case: Case, flow: RecordedDataflow) -> list[int]:
    """The runs of operators in which what .backward() starts from was made, of a program that calls it."""
    steps = {call.number for call in case.backwards() if call.kind == "backward"}
    roots = (flow.maker(root.tensor, len(flow.operations)) for root in flow.roots if root.backward in steps)
    return sorted({flow.operations[at].run for at in roots if at is not None}) or ([-1] if steps else [])


def _is_seen_to_the_end(run: int, runs: Container[int], ends: list[int]) -> bool:
    """Whether all runs from one up to the end of its step were recorded: what it makes may be read in any of them.

    A torch.autograd.grad() in between ends a run and no step.
    """
    following = bisect_left(ends, run)
    return following < len(ends) and all(one in runs for one in range(run, ends[following] + 1))


def _is_visited(case: Case, operation: Operation) -> bool:
    """Whether a backward runs the node of an operator: a custom Function may have taken what it made, and only kept it.

    The operator and the node stand on the same lines, and the node is called after the operator.
    """
    name = base_name(operation.name).removesuffix("_forward").replace("_", "")
    graphs = map(case.graph, sorted(case.graph_sizes())[:_GRAPHS])
    return any(
        node.name.lower().startswith(f"{name}backward") and lines(node.stack) == lines(operation.stack)
        for graph in graphs
        for node in graph.nodes
    )


def _is_unused_number(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    if operation.backward is not None or not operation.operation.grad or len(operation.makes) != 1:
        return False
    (made,) = operation.makes
    known = flow.tensors.get(made)
    if known is None or known.type.shape or not known.type.dtype.startswith(("float", "bfloat")) or made in flow.useful:
        return False
    if _detaches(operation):  # what it makes is there to be looked at
        return False
    computing = [at for at in flow.readers.get(made, ()) if flow.operations[at].operation.grad]
    return not any(flow.operations[at].makes and not _detaches(flow.operations[at]) for at in computing) and any(
        one.requires_grad for one in operation.reads
    )


def _detaches(operation: FlowOperation) -> bool:
    return leaves_torch(operation) or base_name(operation.operation.name) in ("detach", "alias")


def _given_on(case: Case, stack: Stack) -> Iterator[Site]:
    """The lines at which a value has a name: where it is made, and further out as long as functions return it."""
    for site in user_frames(stack):
        yield site
        scope, statement = function_at(case, site) or (None, None)
        if scope is None or statement is None or _is_put_down(statement):
            return
        names = targets(statement)
        returned = (one.value for one in ast.walk(scope) if isinstance(one, ast.Return))
        if not isinstance(statement, ast.Return) and not any(carries(value, names) for value in returned):
            return


def _is_a_term(case: Case, site: Site) -> bool:
    """Whether a line gives its value names that terms of losses have, or adds something and throws the sum away."""
    place = function_at(case, site) if site.origin is Origin.USER else None
    if place is None or _is_put_down(place[1]):
        return False
    names = list(targets(place[1]))
    return (bool(names) and all(_TERMS.search(name.lower()) for name in names)) or _is_thrown_away(case, site)


def _is_put_down(statement: ast.stmt) -> bool:
    """Whether a value goes under a key, `log["entropy"] = ...`: from where it is read is not to be seen."""
    return isinstance(statement, ast.Assign) and all(isinstance(one, ast.Subscript) for one in statement.targets)


def _is_thrown_away(case: Case, site: Site) -> bool:
    """Whether a statement is a sum, as `loss + term` or `loss.add(term)`, that nothing takes."""
    place = function_at(case, site) if site.origin is Origin.USER else None
    if place is None or not isinstance(place[1], ast.Expr):
        return False
    value = place[1].value
    return isinstance(value, ast.BinOp) or attribute_call("add", "sub", "__add__")(value)


def _dropped_result(case: Case, site: Site) -> Site | None:
    """Where a custom Function is applied to what a line computes, in its function, and nothing takes the result."""
    scope, statement = function_at(case, site) or (None, None)
    names = set() if statement is None else targets(statement)
    calls = (one.value for one in ast.walk(scope or ast.Module([], [])) if isinstance(one, ast.Expr))
    for call in filter(attribute_call("apply"), calls):
        if isinstance(call, ast.Call) and any(isinstance(one, ast.Name) and one.id in names for one in call.args):
            return syntax(case).site(site.file, call.lineno, site.function)
    return None
