"""Answers `gradscope who`: who wrote a tensor last, who saved it for the backward, who reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from gradscope.errors import NothingCheckedError, UsageError
from gradscope.explain.deductions.graph_cuts import module_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.answer import Touch, Who
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Origin, Site

_SEVERAL_GRAPHS = 4  # graphs in which savers are looked for


def who(case: Case, asked: str) -> Who:
    """What happened to a tensor, given as a leaf's name, a variable of the source, or the FILE:LINE that made it.

    Of several, the last one that was recorded is meant. Raises UsageError when there is none.
    """
    flow = dataflow(case)
    if not flow.operations:
        raise NothingCheckedError("this recording does not hold which operator made which tensor", "record with ops")
    tensor = _find(case, asked)
    known = flow.tensors[tensor]
    touches = sorted(_touches(case, tensor), key=lambda pair: pair[0])
    return Who(asked, known.leaf or f"tensor {tensor}", str(known.type), tuple(touch for _, touch in touches))


def _find(case: Case, asked: str) -> int:
    flow = dataflow(case)
    file, _, line = asked.rpartition(":")
    if file and line.isdigit():
        here = [at for at in range(len(flow.operations)) if _on(case, at, file, int(line))]
        made = [at for at in here if flow.operations[at].makes]
        if made:
            return _result(case, made)
        raise UsageError(f"no operator that was looked at ran at {asked}", "only the first steps are looked at closely")
    named = [tensor.number for tensor in flow.tensors.values() if tensor.leaf == asked]
    named = named or [one.number for one in flow.tensors.values() if one.leaf and one.leaf.endswith(f".{asked}")]
    if named:
        return max(named, key=lambda one: len(flow.readers.get(one, ())))
    lines = list(_assignments(case, asked))
    made = [at for at in range(len(flow.operations)) if flow.operations[at].makes and _at(case, at, lines)]
    if made:
        return _result(case, made)
    hint = "give a parameter's name, a variable that the source assigns, or FILE:LINE"
    raise UsageError(f"there is no tensor {asked} among those that were looked at", hint)


def _result(case: Case, made: list[int]) -> int:
    """What a line ends up with: the result of its last operator outside of a backward."""
    forward = [at for at in made if dataflow(case).operations[at].backward is None] or made
    read = [at for at in forward if any(dataflow(case).readers.get(one) for one in dataflow(case).operations[at].makes)]
    return dataflow(case).operations[(read or forward)[-1]].makes[0]


def _on(case: Case, at: int, file: str, line: int) -> bool:
    ends = Path(file).parts
    return any(
        site.line == line and Path(site.file).parts[-len(ends) :] == ends
        for site in dataflow(case).operations[at].operation.stack
        if site.origin is Origin.USER
    )


def _at(case: Case, at: int, lines: list[Site]) -> bool:
    site = dataflow(case).operations[at].site
    return any(site is not None and (site.file, site.line) == (one.file, one.line) for one in lines)


def _assignments(case: Case, name: str) -> Iterator[Site]:
    """The lines of the source that assign a variable or an attribute."""
    wanted = name.rpartition(".")[2]

    def assigns(node: ast.AST) -> bool:
        single = [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []
        targets = node.targets if isinstance(node, ast.Assign) else single
        every = [one for target in targets for one in getattr(target, "elts", [target])]
        return any(last_name(one) == wanted for one in every)

    yield from syntax(case).everywhere(assigns)


def _touches(case: Case, tensor: int) -> Iterator[tuple[tuple[int, int], Touch]]:
    flow = dataflow(case)
    wrote = sorted({*flow.sources(tensor, len(flow.operations)), *flow.makers.get(tensor, ())})
    for at in wrote:
        yield (at, 0), _touch(case, "wrote", at)
    for at in flow.readers.get(tensor, ()):
        if tensor in flow.operations[at].makes:
            continue
        if any(_saves_its_result(case, maker, at) for maker in wrote):
            yield (at, 1), _touch(case, "saved", at, flow.operations[wrote[-1]].operation.name)
        else:
            yield (at, 1), _touch(case, "read", at)
            yield from (((at, 2), touch) for touch in _savers(case, tensor, at))


def _touch(case: Case, how: str, at: int, name: str | None = None) -> Touch:
    operation = dataflow(case).operations[at]
    what = name or operation.operation.name
    return Touch(how, what, operation.site, module_of(case, at), operation.backward)


def _saves_its_result(case: Case, maker: int, at: int) -> bool:
    """Whether an operator keeps its own result for the backward: torch detaches it, on the same stack."""
    made, read = dataflow(case).operations[maker].operation, dataflow(case).operations[at].operation
    return at == maker + 1 and read.name == "aten.detach.default" and made.stack == read.stack


def _savers(case: Case, tensor: int, at: int) -> Iterator[Touch]:
    """The nodes of a reading operator's line that keep a tensor of this type; a leaf is known by its name."""
    known, operation = dataflow(case).tensors[tensor], dataflow(case).operations[at].operation
    for node in _nodes(case):
        if node.stack == operation.stack and node.op == operation.name:
            for saved in node.saved:
                if saved.type == known.type and (known.leaf is None or saved.leaf in (None, known.leaf)):
                    module = node.module.label if node.module else None
                    yield Touch(
                        "saved", f"{node.name} as {saved.name}", node.site, module, None, saved.leaf is not None
                    )
            return


def _nodes(case: Case) -> Iterator[Node]:
    numbers = [call.number for call in case.backwards() if call.number in case.graph_sizes()][:_SEVERAL_GRAPHS]
    graphs: list[Graph] = [case.graph(number) for number in numbers]
    for graph in graphs:
        yield from graph.nodes
