"""Why a gradient goes no further than a line: what the line did to the graph. The findings put it into words."""

from __future__ import annotations

import ast
import enum
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.aliases import ALIAS
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, dataflow, leaves_torch
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.graph import Graph
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack, user_site
from gradscope.store.asked import kept

_IN_PLACE = "write into the parameter (`parameter -= rate * parameter.grad`), or ask the new one for requires_grad_()"
CUT, DERIVATIVE, MODE, HIDDEN, CONSTANT = "GS721", "GS722", "GS723", "GS724", "GS772"
_FUNCTIONAL = "call the module with them: torch.func.functional_call(module, values, inputs) keeps their graph"
_EXITS, _ANEW = ("item", "tolist", "numpy"), ("tensor", "as_tensor", "FloatTensor")
_CALLS = (
    ".numpy(",
    ".tolist(",
    ".item(",
    ".data",
    "torch.tensor(",
    "as_tensor(",
    "Variable(",
    "Parameter(",
    ".detach(",
)


class Reason(enum.Enum):
    """Why a gradient does not arrive."""

    GRADIENTS_OFF = enum.auto()
    UPDATED_ANEW = enum.auto()  # a step of one's own, into a new tensor
    GRADIENTS_OFF_BEFORE = enum.auto()  # for all of the loss
    NOT_TRAINED_HERE = enum.auto()  # of a model that was trained before
    INFERENCE_TENSOR = enum.auto()
    INFERENCE_MODE = enum.auto()  # around all of the loss
    NO_DERIVATIVE = enum.auto()
    ZERO_DERIVATIVE = enum.auto()
    FLAT_PART = enum.auto()  # on the only way of a part of the loss; other parts train what is behind it
    CANCELLED = enum.auto()  # one side of a difference is the other plus a constant
    CANCELLED_IN_SUM = enum.auto()  # one side is the other plus what is trained too, and nothing else reads either
    NO_CREATE_GRAPH = enum.auto()
    DETACHED = enum.auto()
    LOADED = enum.auto()  # into the parameters of another module
    STRAIGHT_THROUGH = enum.auto()  # in a result that a loss takes for it
    PLAIN_NUMBERS = enum.auto()
    PLAIN_NUMBERS_AFTER = enum.auto()  # of the last result that had a graph
    NUMBERS_ALONE = enum.auto()
    OTHER_TENSORS = enum.auto()  # than the ones that require grad
    ALL_FROZEN = enum.auto()
    FROZEN_HERE = enum.auto()
    GIVEN_PLAIN = enum.auto()  # to the optimizer
    RESULT_UNUSED = enum.auto()
    NAME_OVERWRITTEN = enum.auto()  # before anything has read the result that it was given
    PART_DERIVED = enum.auto()  # of the loss, in which others are
    NEVER_READ = enum.auto()
    SIBLING_READ_TWICE = enum.auto()
    STACKED = enum.auto()  # of the members of an ensemble, which the optimizer holds
    UNDER_VMAP = enum.auto()  # which autograd does not look through
    GIVEN_NONE = enum.auto()  # by a custom Function's backward
    CLEARED = enum.auto()


@dataclass(frozen=True, slots=True)
class MissingGradient:
    """A gradient that does not arrive. `cause` lacks its message, `names` the parameters concerned.

    `operator`, `call` (as it is written on the line) and `dtype` belong to the reason. `hidden` says that the result
    was given requires_grad, `no_graph` that the whole loss has no graph, `part` that a summand of it has none,
    `derivative` that one by an input lacks a part.
    `since`: the optimizer's step from which on it is missing, None: it never came.
    """

    code: str
    reason: Reason
    cause: Cause
    operator: str = ""
    call: str = ""
    dtype: str = ""
    hidden: bool = False
    no_graph: bool = False
    part: bool = False
    derivative: bool = False
    names: tuple[str, ...] = ()
    since: int | None = None


def at_cut(case: Case, cut: Cut) -> MissingGradient:
    """The cause of a cut, also where a requires_grad further on hides it."""
    found = bare_cut(case, cut)
    if found.code == CONSTANT or not dataflow(case).leaf_on_the_way(cut.made):
        return found
    hidden = _hidden(case, cut.operation, found)
    asked = any(end.target and end.tensor == cut.made for end in dataflow(case).ends)
    return (
        replace(hidden, cause=replace(hidden.cause, severity=Severity.INFO)) if asked else hidden
    )  # a leaf on purpose


def bare_cut(case: Case, cut: Cut) -> MissingGradient:
    """The cause of a cut: the operator has no derivative, gradients were off, or the value was detached."""
    operation = dataflow(case).operations[cut.operation]
    name, module = operation.operation.name, module_of(case, cut.operation)
    made = dataflow(case).tensors.get(cut.made) if cut.made is not None else None
    derivative = None if operation.backward is None else case.backwards_by_number().get(operation.backward)
    if derivative is not None and not derivative.create_graph:
        cause = Cause("", operation.site, op=name, module=module)
        return MissingGradient(CONSTANT, Reason.NO_CREATE_GRAPH, cause)
    if _is_update(case, cut.operation):
        cause = Cause("", operation.site, op=name, module=module, advice=_IN_PLACE)
        return MissingGradient(MODE, Reason.UPDATED_ANEW, cause, operator=base_name(name))
    if any(site.function == "_load_from_state_dict" for site in operation.operation.stack):
        cause = Cause("", operation.site, op=name, module=module, advice=_FUNCTIONAL)
        return MissingGradient(CUT, Reason.LOADED, cause)
    if not operation.operation.grad:
        mode = syntax(case).switch(operation.operation.stack)
        site = mode.site if mode else operation.site
        place = (Related("cut_at", operation.site, name),) if site != operation.site else ()
        cause = Cause("", site, place, certain=mode is not None, op=name, module=module)
        return MissingGradient(MODE, Reason.GRADIENTS_OFF, cause, operator=base_name(name))
    if made is not None and dataflow(case).is_whole(cut.made):
        cause, dtype = Cause("", operation.site, op=name, module=module), made.type.dtype
        return MissingGradient(DERIVATIVE, Reason.NO_DERIVATIVE, cause, operator=base_name(name), dtype=dtype)
    cause = Cause("", operation.site, op=name, module=module)
    return MissingGradient(CUT, Reason.DETACHED, cause, call=_call(operation.site, name))


def _is_update(case: Case, at: int) -> bool:
    """Whether an operator, with gradients off, makes a new tensor of a leaf and of what a backward gave, as a step of
    one's own does that should write into the leaf."""
    flow = dataflow(case)
    operation = flow.operations[at]
    if operation.operation.grad or operation.operation.writes or not any(read.leaf for read in operation.reads):
        return False
    factors = [read.tensor for read in operation.reads if not read.leaf]
    made = [flow.operations[one] for tensor in factors for one in flow.makers.get(tensor, ())]
    made += [flow.operations[one] for each in made for read in each.reads for one in flow.makers.get(read.tensor, ())]
    return any(one.backward is not None for one in made)


def exit_at(case: Case, at: int) -> Site | None:
    """The line where the result of an operator that read what requires grad goes to Python or numpy, None for none."""
    operation = dataflow(case).operations[at]
    if operation.backward is not None or not any(read.requires_grad for read in operation.reads):
        return None
    if leaves_torch(operation):
        return operation.site
    lines = list(_returned_to(case, operation.operation.stack))
    left = next((site for site in lines if any(f".{name}(" in (site.source or "") for name in _EXITS)), None)
    return left or next((made for site in lines if (made := _made_anew_at(case, site)) is not None), None)


def _made_anew_at(case: Case, site: Site) -> Site | None:
    """The line of a statement that is all `torch.tensor([...])`: it reads what is computed inside of it as numbers."""
    statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
    value = statement.value if isinstance(statement, ast.Assign | ast.Return | ast.AnnAssign) else None
    if not isinstance(value, ast.Call) or called_name(value) not in _ANEW or not value.args:
        return None
    is_list = isinstance(value.args[0], ast.List | ast.Tuple | ast.ListComp)
    return syntax(case).site(site.file, value.lineno) if is_list else None


def _returned_to(case: Case, stack: Stack) -> Iterator[Site]:
    """The user's line that an operator ran on, and those that are given what it returns."""
    for site in stack:
        if site.origin is Origin.USER:
            yield site
            if not isinstance(syntax(case).parsed(site.file).whole_statements.get(site.line), ast.Return):
                return


def at_exit(case: Case, at: int) -> MissingGradient:
    """The cause of a value that left torch."""
    operation = dataflow(case).operations[at]
    name, site = operation.operation.name, exit_at(case, at) or operation.site
    cause = Cause("", site, certain=False, op=name, module=module_of(case, at))
    found = MissingGradient(CUT, Reason.PLAIN_NUMBERS, cause, call=_call(site, name))
    new_leaf = any(root.leaf and root.requires_grad for root in dataflow(case).roots)
    return _hidden(case, at, found) if new_leaf else found


def _hidden(case: Case, at: int, found: MissingGradient) -> MissingGradient:
    """A requires_grad further on makes torch accept the loss that was cut."""
    site = _requires_grad_line(case, at)
    related = (*found.cause.related, Related("masked_by", site, "requires_grad on the result"))
    return replace(found, code=HIDDEN, cause=replace(found.cause, related=related), hidden=True)


def _requires_grad_line(case: Case, at: int) -> Site | None:
    site = dataflow(case).operations[at].site
    lines = list(syntax(case).matching(lambda code: "requires_grad" in code and "False" not in code))
    near = [line for line in lines if site is not None and line.file == site.file and line.line >= site.line]
    return next(iter([*near, *lines]), None)


def _call(site: Site | None, name: str) -> str:
    """The call that the operator comes from, as it is written on the line."""
    text = (site.source if site else None) or ""
    return next((call.rstrip("(") for call in _CALLS if call in text), base_name(name))


def born(case: Case, tensor: int) -> Site | None:
    """The user's line that made a tensor or filled it first."""
    return user_site(birth(case, tensor))


def birth(case: Case, tensor: int) -> Stack:
    """Where a tensor was made or filled first; empty where that was not recorded.

    No backward, and no view of it, makes a parameter.
    """
    flow = dataflow(case)
    known = flow.tensors.get(tensor)
    if known is None:
        return ()
    for operation in _makers(case).get(known.storage, ()):
        if not (known.parameter and _only_uses(flow, operation, known)):
            return operation.operation.stack
    return ()


@kept
def _makers(case: Case) -> dict[int, list[FlowOperation]]:
    """By memory, the operators that give tensors in it."""
    flow, found = dataflow(case), defaultdict[int, list[FlowOperation]](list)
    for operation in flow.operations:
        for storage in {flow.tensors[made].storage for made in operation.makes if made in flow.tensors}:
            found[storage].append(operation)
    return found


def over_learned(case: Case, tensor: int) -> FlowOperation | None:
    """What made a parameter over a result that requires grad, as nn.Parameter(encoder(x)) does; None for others."""
    flow = dataflow(case)
    made = [flow.operations[at] for at in flow.makers.get(tensor, ())]
    made = [one for one in made if one.operation.name == ALIAS]
    return next((one for one in made if any(read.requires_grad and not read.leaf for read in one.reads)), None)


def _only_uses(flow: RecordedDataflow, operation: FlowOperation, parameter: FlowTensor) -> bool:
    """Whether an operator makes a view of a parameter, or a backward something where another had lain."""
    reads = (one.tensor for one in operation.reads if one.requires_grad and one.tensor in flow.tensors)
    learned = {flow.tensors[one].storage for one in reads}
    return operation.backward is not None or (operation.operation.grad and parameter.storage in learned)


def first_values(case: Case, leaf: str) -> Site | None:
    """The user's line that last gave a named leaf values before anything was trained."""
    flow = dataflow(case)
    storages = {tensor.storage for tensor in flow.tensors.values() if tensor.leaf == leaf}
    found = None
    for operation in flow.operations:
        if operation.backward is not None:
            break
        if any(flow.tensors[made].storage in storages for made in operation.makes if made in flow.tensors):
            found = operation.site if not operation.operation.grad or found is None else found
    return found


def module_of(case: Case, at: int) -> str | None:
    """The module that an operator ran in."""
    module = dataflow(case).operations[at].operation.module
    return None if module is None else module.path or module.module_class


def reaches(graph: Graph, target: int, without: set[int]) -> bool:
    """Whether a way leads from the roots to a node that goes through none of some others."""
    return target in reached(graph, without)


def reached(graph: Graph, without: set[int]) -> set[int]:
    """The nodes to which a way leads from the roots that goes through none of some others."""
    onward: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        onward[edge.source].append(edge.target)
    waiting, seen = [root for root in graph.roots if root not in without], set[int]()
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += [one for one in onward[at] if one not in without]
    return seen
