"""GS707: an embedding and the layer that scores with it, which start as copies and are trained apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SAME = ("detach", "alias", "clone", "_to_copy")
_LOOKS_UP, _SCORES = ("embedding", "embedding_bag"), ("mm", "addmm", "matmul", "linear", "bmm", "mv")
_DRAWS = ("normal", "uniform", "trunc_normal", "randn", "rand")
_FILLS = ("zero", "fill", "mul", "div", "add", "sub", "erfinv", "clamp", "detach", "empty", "zeros", "ones")
_FEW = 12  # tensors of an initialisation
_FAR = 6  # operators between a table and its copy
_MEANT = re.compile(r"\b(untied?|separate|own|independent|apart|start\w*|init\w*|warm\w*)\b", re.IGNORECASE)


def copied_table(case: Case) -> Iterator[Cause]:
    """What it flags: an nn.Parameter that is a copy of an embedding's freshly drawn table, and scores what is looked up
    in the embedding.

    Why: a clone is another parameter. The two tables are equal before the first step and part with it: what the scores
    teach about a word does not reach the rows that are looked up, and rows that are looked up nowhere stay as they were
    drawn.

    Wrong:
        self.score.weight = nn.Parameter(self.words.weight.clone())

    Right:
        self.score.weight = self.words.weight

    Do instead: where the two are to be one table, assign the Parameter itself; else leave the second as it was drawn.

    How it is found: a parameter's values were copied from another's, which nothing but its initialisation had written.
    One is looked up, the other multiplied with, and the same optimizer steps both. Of values that were loaded or
    trained before, a copy is a start, and nothing is said; nor where a comment beside the line says that it is.
    """
    flow = dataflow(case)
    for look in case.optimizer_looks():
        held = {one.tensor: one.name for one in look.parameters if one.state is GradientState.VALUES}
        for tensor, name in held.items():
            found = _copied_from(flow, tensor)
            if found is None or found[1] not in held or found[1] == tensor:
                continue
            at, table = found
            site = flow.operations[at].site
            if _are_both_ends(flow, tensor, table) and _is_drawn(flow, table, at) and _is_assigned(case, site):
                yield Cause(
                    f"{name} and {held[table]} are two tables: this copies what was drawn for one of them, and each is "
                    "trained for itself",
                    site,
                    (Related("stepped_at", look.site, "the optimizer of both"),),
                    certain=False,
                    tensor=name,
                )
                return


def _copied_from(flow: RecordedDataflow, tensor: int) -> tuple[int, int] | None:
    """The operator that copied a parameter's values, and the tensor that it copied."""
    at, copied = flow.makers.get(tensor, [len(flow.operations)])[0], None
    for _ in range(_FAR):
        operation = flow.operations[at] if at < len(flow.operations) else None
        if operation is None or _name(operation) not in _SAME or len(operation.reads) != 1:
            return None
        copied = at if _name(operation) in ("clone", "_to_copy") else copied
        source = operation.reads[0].tensor
        if source in flow.tensors and flow.tensors[source].parameter and copied is not None:
            return copied, source
        before = [one for one in flow.makers.get(source, ()) if one < at]
        if not before:
            return None
        at = before[-1]
    return None


def _are_both_ends(flow: RecordedDataflow, one: int, other: int) -> bool:
    """Whether one of two tables is looked up, and the other multiplied with."""
    first, second = _uses(flow, one), _uses(flow, other)
    ends = (("looks", "scores"), ("scores", "looks"))
    return any(first == {start} and second == {end} for start, end in ends)


def _uses(flow: RecordedDataflow, tensor: int) -> set[str]:
    """What is done with a parameter, or with it turned around, in forwards with gradients."""
    turned = [made for at in flow.readers.get(tensor, ()) for made in _turns(flow.operations[at])]
    readers = {at for one in (tensor, *turned) for at in flow.readers.get(one, ())}
    names = {_name(flow.operations[at]) for at in readers if flow.reads_learned(at)}
    kinds = {"looks": _LOOKS_UP, "scores": _SCORES}
    return {kind for kind, operators in kinds.items() if not names.isdisjoint(operators)}


def _turns(operation: FlowOperation) -> tuple[int, ...]:
    return operation.makes if _name(operation) in ("t", "transpose", "permute") and operation.backward is None else ()


def _is_drawn(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a parameter holds what was drawn for it, and nothing but its initialisation had written it."""
    storage = flow.tensors[tensor].storage
    wrote = [flow.operations[at] for at, storages in flow.written.items() if at < before and storage in storages]
    made = [one for _, one in trail(flow, tensor, before, lambda one: [read.tensor for read in one.reads], _FEW)]
    names = {_name(one) for one in (*wrote, *made)}
    return names <= {*_DRAWS, *_FILLS} and not names.isdisjoint(_DRAWS)


def _is_assigned(case: Case, site: Site | None) -> bool:
    """Whether a line gives an attribute its value, and no comment there says that the copy is meant."""
    statement = None if site is None else syntax(case).statement(site)
    if site is None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return False
    lines = syntax(case).parsed(site.file).lines
    first = statement.lineno - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    told = (line.partition("#")[2] for line in lines[first : statement.end_lineno])
    return not any(_MEANT.search(one) for one in told)


def _name(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).rstrip("_")
