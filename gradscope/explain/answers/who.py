"""Answers `gradscope who`: who wrote a tensor last, who saved it for the backward, who reads it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gradscope.errors import NothingCheckedError, UsageError
from gradscope.explain.answers.why import in_use
from gradscope.explain.deductions.lines.graph_cuts import module_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.answer import Touch, Who
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Origin, Site

_SEVERAL_GRAPHS = 4  # graphs in which savers are looked for
_RESULT = "result"  # how torch names what a node keeps of its own results


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
    asked = in_use(case, asked)
    named = [tensor.number for tensor in flow.tensors.values() if tensor.leaf == asked]
    named = named or [one.number for one in flow.tensors.values() if one.leaf and one.leaf.endswith(f".{asked}")]
    if named:
        return max(named, key=lambda one: len(flow.readers.get(one, ())))
    lines = list(_assignments(case, asked))
    made = [at for at in range(len(flow.operations)) if flow.operations[at].makes and _at(case, at, lines)]
    if made:
        _check_alone(case, asked, {flow.operations[at].site for at in made})
        return _result(case, made)
    hint = "give a parameter's name, a variable that the source assigns, or FILE:LINE"
    raise UsageError(f"there is no tensor {asked} among those that were looked at", hint)


def _result(case: Case, made: list[int]) -> int:
    """What a line ends up with: the result of its last operator outside of a backward that writes no leaf."""
    flow = dataflow(case)
    forward = [at for at in made if flow.operations[at].backward is None] or made
    forward = [at for at in forward if not any(flow.tensors[one].leaf for one in flow.operations[at].makes)] or forward
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
    """The lines of the source that compute a variable or an attribute; one that only gives it a name made nothing."""

    def assigns(node: ast.AST) -> bool:
        if isinstance(getattr(node, "value", None), (ast.Name, ast.Attribute, ast.Constant)):
            return isinstance(node, ast.AugAssign) and _is_called(node.target, name)
        single = [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []
        targets = node.targets if isinstance(node, ast.Assign) else single
        every = [one for target in targets for one in getattr(target, "elts", [target])]
        return any(_is_called(one, name) for one in every)

    yield from syntax(case).everywhere(assigns)


def _check_alone(case: Case, asked: str, lines: set[Site | None]) -> None:
    """Refuse a line with several statements: it is not known which of them an operator belongs to."""
    here = [(site.file, site.line) for site in lines if site is not None]
    kinds = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)
    count = Counter((site.file, site.line) for site in syntax(case).everywhere(lambda node: isinstance(node, kinds)))
    if any(count[one] > 1 for one in here):
        hint = "the recording knows lines: give each statement a line of its own, and record again"
        raise UsageError(f"{asked} is assigned on a line with other statements", hint)


def _is_called(target: ast.AST, name: str) -> bool:
    """Whether a target is a variable or attribute of that name: its whole path, or the end of it."""
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return False
    path = ast.unparse(target)
    return path == name or path.endswith(f".{name}")


def _touches(case: Case, tensor: int) -> Iterator[tuple[tuple[int, int], Touch]]:
    flow = dataflow(case)
    wrote = sorted({*flow.sources(tensor, len(flow.operations)), *flow.makers.get(tensor, ())})
    for at in wrote:
        yield (at, 0), _touch(case, "wrote", at)
        yield from (((at, 2), touch) for touch in _savers(case, tensor, at, is_its_result=True))
    for at in flow.readers.get(tensor, ()):
        if tensor not in flow.operations[at].makes:
            yield (at, 1), _touch(case, "read", at)
            yield from (((at, 2), touch) for touch in _savers(case, tensor, at, is_its_result=False))


def _touch(case: Case, how: str, at: int) -> Touch:
    operation = dataflow(case).operations[at]
    return Touch(how, operation.operation.name, operation.site, module_of(case, at), operation.backward)


def _savers(case: Case, tensor: int, at: int, *, is_its_result: bool) -> Iterator[Touch]:
    """The nodes of an operator's line that keep a tensor of this type; a leaf is known by its name."""
    known, operation = dataflow(case).tensors[tensor], dataflow(case).operations[at].operation
    for node in _nodes(case):
        if node.stack == operation.stack and node.op == operation.name:
            for saved in node.saved:
                is_meant = saved.name.startswith(_RESULT) == is_its_result and saved.type == known.type
                if is_meant and (known.leaf is None or saved.leaf in (None, known.leaf)):
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
