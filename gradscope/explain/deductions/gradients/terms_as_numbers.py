"""Terms of a loss that are made numbers of Python before they are added: the loss shows them, and no gradient comes.

A number has no identity: that it is the one which is added is read from the source, and from the operator that adds it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, Way, dataflow, leaves_torch
from gradscope.explain.evidence.source_names import targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.trails import trail
from gradscope.functions.source import last_name
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_TIMES = 3
_FAR = 64  # tensors in the sum that a loss is, at most
_SUMS = ("add", "add_", "sub", "sub_", "rsub")
_KEEPS = ("mul", "div", "neg", "sum", "mean", "squeeze", "view", "_to_copy")
_NUMBERS = ("item", "float", "tolist")


def number_before(case: Case, way: Way, cut: Cut) -> int | Cut | None:
    """Where a parameter's values become a number that is added to a loss, for which a cut can not be why no gradient
    came: the backward ran before it, or the cut leads to losses of other optimizers alone.

    The operator that hands the number out, or the cut on its line.
    """
    flow = dataflow(case)
    terms = terms_as_numbers(case, detached=True)
    line = flow.operations[cut.operation].site
    first = min(one.operation for one in way.cuts if flow.operations[one.operation].site == line)
    cuts = {one.operation: one for one in way.cuts if flow.operations[one.operation].site in terms}
    left = [at for at in way.operations if leaves_torch(flow.operations[at]) and flow.operations[at].site in terms]
    number = min([*cuts, *left], default=None)
    if number is None:
        return None
    ran_before = any(one.backward is not None for one in flow.operations[number:first])
    return cuts.get(number, number) if ran_before or _are_of_others(case, way, terms) else None


def _are_of_others(case: Case, way: Way, numbers: Container[Site | None]) -> bool:
    """Whether what is cut off, but for numbers, goes into losses that train other optimizers' parameters alone."""
    flow = dataflow(case)
    apart = _apart(case, way)
    rest = {root.backward for root in flow.roots} - apart
    useful = flow.since(0, rest).useful if apart else flow.useful
    return not any(one.made in useful for one in way.cuts if flow.operations[one.operation].site not in numbers)


def _apart(case: Case, way: Way) -> set[int]:
    """The backward calls that reach what other optimizers hold, and nothing of the one that holds a parameter.

    One whose leaves were not looked at does as all those of its line.
    """
    looks = [(look.optimizer, {one.tensor for one in look.parameters}) for look in case.optimizer_looks()]
    own = {optimizer for optimizer, held in looks if held & way.live}
    mine = {one for optimizer, held in looks if optimizer in own for one in held}
    others = {one for optimizer, held in looks if optimizer not in own for one in held} - mine
    reached: dict[int, set[int]] = {}
    for leaf in case.leaf_gradients():
        reached.setdefault(leaf.backward, set()).add(leaf.tensor)
    apart = {at for at, leaves in reached.items() if leaves & others and not leaves & mine}
    calls = case.backwards()
    lines = {call.site for call in calls if call.number in apart}
    lines -= {call.site for call in calls if call.number in reached and call.number not in apart}
    return apart | {call.number for call in calls if call.site in lines and call.number not in reached}


def terms_as_numbers(case: Case, detached: bool = False) -> dict[Site, Site]:
    """The lines that make a number of a term with a graph, in three steps or more, each with the line that adds it.

    With `detached`, also of one that the same line detaches first, which may be meant.
    """
    flow = dataflow(case)
    adding = _adding_a_number(flow)
    times: Counter[Site] = Counter()
    added: dict[Site, Site] = {}
    for at, operation in enumerate(flow.operations if adding else ()):
        learned = flow.reads_learned(at) or (detached and _reads_detached(flow, at))
        if leaves_torch(operation) and learned and operation.site is not None:
            line = added.get(operation.site) or _added_on(case, operation, adding)
            if line is not None:
                times[operation.site] += 1
                added[operation.site] = line
    return {site: added[site] for site, count in times.items() if count >= _TIMES}


def _reads_detached(flow: RecordedDataflow, at: int) -> bool:
    """Whether an operator reads what another one on its line made of what is learned."""
    site, read = flow.operations[at].site, flow.operations[at].reads
    makers = (flow.maker(one.tensor, at) for one in read)
    return any(one is not None and flow.operations[one].site == site and flow.reads_learned(one) for one in makers)


def _adding_a_number(flow: RecordedDataflow) -> set[Site]:
    """The lines that add a number of Python to what a loss is a sum of."""
    found: set[Site] = set()
    for root in flow.roots:
        for _, one in trail(flow, root.tensor, len(flow.operations), _summed, _FAR) if root.requires_grad else ():
            if base_name(one.operation.name) in _SUMS and len(one.reads) == 1 and one.site is not None:
                found.add(one.site)
    return found


def _summed(operation: FlowOperation) -> list[int]:
    is_kept = base_name(operation.operation.name) in (*_SUMS, *_KEEPS)
    return [one.tensor for one in operation.reads if one.requires_grad and is_kept]


def _added_on(case: Case, number: FlowOperation, adding: set[Site]) -> Site | None:
    """The line that adds what a line made a number of, under the name that it was given."""
    for site in number.operation.stack:
        statement = syntax(case).statement(site) if site.origin is Origin.USER else None
        if isinstance(statement, ast.Return) and _is_number(statement.value, site is number.site):
            continue  # the caller gives it a name
        names = set(_given_names(statement, site == number.site))
        lines = (one for one in adding if one.is_in_function_of(site))
        return next((one for one in lines if _adds(case, one, names)), None)
    return None


def _given_names(statement: ast.stmt | None, is_made_here: bool) -> Iterator[str]:
    """What a statement calls the number: `penalty`, `parts['penalty']`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(value, ast.Dict):
            for key, one in zip(value.keys, value.values, strict=True):
                if key is not None and _is_number(one, is_made_here):
                    yield ast.unparse(ast.Subscript(target, key, ast.Load()))
        elif _is_number(value, is_made_here):
            yield ast.unparse(target)


def _is_number(value: ast.expr | None, is_made_here: bool) -> bool:
    """Whether an expression is a call that makes a number (or, in a caller, that returns it), times numbers."""
    calls = [one for one in _factors(value) if isinstance(one, ast.Call)]
    others = [one for one in _factors(value) if not isinstance(one, (ast.Call, ast.Constant, ast.Name, ast.Attribute))]
    return len(calls) == 1 and not others and (not is_made_here or last_name(calls[0].func) in _NUMBERS)


def _adds(case: Case, line: Site, names: set[str]) -> bool:
    """Whether a line adds one of these to something, as it is or times a number."""
    statement, function = syntax(case).statement(line), syntax(case).function(line)
    nodes = () if function is None else ast.walk(function)
    assigned = {name for one in nodes if isinstance(one, ast.stmt) for name in targets(one)}
    return any(_is_times_numbers([*_factors(one)], names, assigned) for one in _added(statement))


def _added(statement: ast.stmt | None) -> Iterator[ast.expr]:
    """What a statement adds to something, or something to."""
    for one in () if statement is None else ast.walk(statement):
        if isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Add, ast.Sub)):
            yield from (one.left, one.right)
        elif isinstance(one, ast.AugAssign) and isinstance(one.op, (ast.Add, ast.Sub)):
            yield one.value


def _is_times_numbers(factors: list[ast.expr], names: set[str], assigned: set[str]) -> bool:
    """Whether one factor has one of these names, and no other may be a tensor that the function has computed."""
    others = [one for one in factors if ast.unparse(one) not in names]
    return len(others) == len(factors) - 1 and not any(
        isinstance(one, ast.Call | ast.Subscript) or (isinstance(one, ast.Name) and one.id in assigned)
        for one in others
    )


def _factors(value: ast.AST | None) -> Iterator[ast.expr]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        yield from _factors(value.left)
        yield from _factors(value.right)
    elif isinstance(value, ast.UnaryOp):
        yield from _factors(value.operand)
    elif isinstance(value, ast.expr):
        yield value
