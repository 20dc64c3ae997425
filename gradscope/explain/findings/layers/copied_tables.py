"""GS707: an embedding and the layer that scores with it, or what is said to be tied, as copies that train apart."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.told_ties import is_told_apart, is_told_tied
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_site
from gradscope.store.asked import kept

_SAME = ("detach", "alias", "clone", "_to_copy")
_LOOKS_UP, _SCORES = ("embedding", "embedding_bag"), ("mm", "addmm", "matmul", "linear", "bmm", "mv")
_TURNS = ("t", "transpose", "permute")
_DRAWS = ("normal", "uniform", "trunc_normal", "randn", "rand")
_FILLS = ("zero", "fill", "mul", "div", "add", "sub", "erfinv", "clamp", "detach", "empty", "zeros", "ones")
_FEW = 12  # tensors of an initialisation
_TWO = 2  # tensors: what is written, and what it is given
_FAR = 6  # operators between a table and its copy


def copied_table(case: Case) -> Iterator[Cause]:
    """What it flags: an nn.Parameter that is a copy of an embedding's freshly drawn table, and scores what is looked up
    in the embedding; or one that is written over with another's values, where the program speaks of tied weights.

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
    trained before, a copy is a start, and nothing is said; nor where a comment beside the line says that it is. Of
    values that copy_() writes, both parameters are trained, and the name of the function, its docstring, a comment or
    the name of the class says that they are tied or shared, and nothing speaks of a start; it copies before the first
    backward and never again.
    """
    flow = dataflow(case)
    for look in case.optimizer_looks():
        held = {one.tensor: one.name for one in look.parameters if one.state is GradientState.VALUES}
        for tensor, name in held.items():
            for at, table in (*_copied_from(flow, tensor), *_written_over(case, tensor)):
                if table not in held or table == tensor or not _is_drawn(flow, table, at):
                    continue
                site = flow.operations[at].site
                ends = _are_both_ends(flow, tensor, table)
                if (ends and _is_assigned(case, site)) or _is_tied_once(case, at):
                    yield Cause(
                        f"{name} and {held[table]} are two {'tables' if ends else 'parameters'}: this copies what was "
                        "drawn for one of them, and each is trained for itself",
                        site,
                        (Related("stepped_at", look.site, "the optimizer of both"),),
                        certain=False,
                        tensor=name,
                    )
                    return


def _copied_from(flow: RecordedDataflow, tensor: int) -> Iterator[tuple[int, int]]:
    """The operator that copied a parameter's values, and the tensor that it copied."""
    at, copied = flow.makers.get(tensor, [len(flow.operations)])[0], None
    for _ in range(_FAR):
        operation = flow.operations[at] if at < len(flow.operations) else None
        if operation is None or _name(operation) not in _SAME or len(operation.reads) != 1:
            return
        copied = at if _name(operation) in ("clone", "_to_copy") else copied
        source = operation.reads[0].tensor
        if source in flow.tensors and flow.tensors[source].parameter and copied is not None:
            yield copied, source
            return
        before = [one for one in flow.makers.get(source, ()) if one < at]
        if not before:
            return
        at = before[-1]


@kept
def _writes(case: Case) -> dict[int, list[int]]:
    """The operators that wrote into each memory, in order."""
    found: dict[int, list[int]] = defaultdict(list)
    for at, storages in sorted(dataflow(case).written.items()):
        for storage in storages:
            found[storage].append(at)
    return found


def _last_copy(case: Case, tensor: int) -> int | None:
    """The copy_() that wrote a parameter last before anything was learned of it."""
    flow = dataflow(case)
    wrote = _writes(case).get(flow.tensors[tensor].storage, []) if tensor in flow.tensors else []
    if not any(_name(flow.operations[at]) == "copy" for at in wrote):
        return None
    learned = next((at for at in flow.readers.get(tensor, ()) if flow.reads_learned(at)), 0)
    last = max((at for at in wrote if at < learned), default=None)
    return last if last is not None and _name(flow.operations[last]) == "copy" else None


def _written_over(case: Case, tensor: int) -> Iterator[tuple[int, int]]:
    """The copy_() that wrote all of a parameter last before anything was learned, and the parameter it copied."""
    flow, last = dataflow(case), _last_copy(case, tensor)
    reads = [] if last is None else [one.tensor for one in flow.operations[last].reads]
    if last is None or len(reads) != _TWO or flow.shape(reads[0]) != flow.shape(tensor):
        return  # a part of it, or a number
    source = reads[1]
    for _ in range(_FAR):
        if source in flow.tensors and flow.tensors[source].parameter:
            yield last, source
            return
        at = flow.maker(source, last)
        if at is None or _name(flow.operations[at]) not in (*_SAME, *_TURNS) or len(flow.operations[at].reads) != 1:
            return
        source = flow.operations[at].reads[0].tensor


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
    return operation.makes if _name(operation) in _TURNS and operation.backward is None else ()


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
    return not is_told_apart(case, site)


def _is_tied_once(case: Case, at: int) -> bool:
    """Whether the line of a copy_() is to tie two parameters, and does not run again behind the first backward."""
    operation = dataflow(case).operations[at]
    if operation.site is None or _name(operation) != "copy" or not is_told_tied(case, operation.site):
        return False
    seen: set[int] = set()
    for block in case.blocks():
        if block.number <= operation.run or id(block.operations) in seen:
            continue
        seen.add(id(block.operations))
        if any(one.writes and user_site(one.stack) == operation.site for one in block.operations):
            return False
    return True


def _name(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).rstrip("_")
