"""GS718: of a result that is made for several parts one part is taken twice, and another by nobody."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.source_names import function_at, targets
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_PARTS = ("slice", "select", "narrow", "split", "split_with_sizes", "unbind")
_TAKES = ("narrow", "select")
_CUTS = ("chunk", "split", "tensor_split", "unbind")  # which are indexed
_SIZES = ("shape", "size", "dim", "ndim", "device", "dtype")
_TIMES = 2


@dataclass(frozen=True, slots=True)
class _Taken:
    """A place at which a part of a tensor is taken, and how many numbers it has."""

    site: Site
    size: int


@dataclass(frozen=True, slots=True)
class _Part:
    """A part as it is written: of which name, and all of it."""

    of: str
    text: str
    line: int


def same_part_twice(case: Case) -> Iterator[Cause]:
    """What it flags: one part of a result is taken twice, under two names, and another part by nobody.

    Why: a layer that gives the mean and the logarithm of the variance side by side, or queries, keys and values, is as
    wide as all of them. Where a range was copied and not changed, two of them are the same numbers: shapes fit, and
    the weights of the part that nobody reads never learn.

    Wrong:
        mean = h[:, :width]
        log_var = h[:, :width]

    Right:
        mean = h[:, :width]
        log_var = h[:, width:]

    Do instead: take the other part; mean, log_var = h.chunk(2, dim=1) cannot take one twice.

    How it is found: in two steps or more, all that reads a result are parts of it that go into the loss, in one
    function; two of them are written alike, and together they are as large as the whole. The function does not read
    the result in any other way, in no branch. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    found: dict[Site, tuple[Site, _Part]] = {}
    for tensor in _cut_up(flow):
        taken = list(_taken(flow, tensor))
        if len(taken) > 1 and sum(one.size for one in taken) == prod(flow.shape(tensor)):
            for first, second, part in _alike(case, taken):
                times[second] += 1
                found[second] = first, part
    for site, (first, part) in found.items():
        if times[site] >= _TIMES:
            related = (Related("called_at", first, "takes the same part"),) if first != site else ()
            message = (
                f"`{part.text}` is taken twice here, and nothing reads the rest of `{part.of}`, which never learns"
            )
            yield Cause(message, site, related, certain=False)


def _cut_up(flow: RecordedDataflow) -> Iterator[int]:
    """The computed tensors of which all that reads them, in a forward, takes a part."""
    seen: set[int] = set()
    for operation in flow.operations:
        if operation.backward is None and operation.operation.grad and base_name(operation.operation.name) in _PARTS:
            read = operation.reads[0]
            if read.tensor not in seen and read.requires_grad and not read.leaf:
                seen.add(read.tensor)
                readers = (flow.operations[at] for at in flow.readers[read.tensor])
                forward = [one for one in readers if one.backward is None]
                if all(base_name(one.operation.name) in _PARTS for one in forward):
                    yield read.tensor


def _taken(flow: RecordedDataflow, tensor: int) -> Iterator[_Taken]:
    """The parts of a tensor that go into a loss with their graph; a part that does not is as large as the whole."""
    for at in flow.readers[tensor]:
        operation = flow.operations[at]
        if operation.backward is None and operation.site is not None:
            for made in operation.makes:
                met = flow.later(made, at)
                if met is not None:
                    readers = (flow.operations[reader].operation.name for reader in flow.readers.get(made, ()))
                    is_detached = all(base_name(name) == "detach" for name in readers)
                    is_learned = met.requires_grad and made in flow.useful and not is_detached
                    yield _Taken(operation.site, prod(flow.shape(made if is_learned else tensor)))


def _alike(case: Case, taken: list[_Taken]) -> Iterator[tuple[Site, Site, _Part]]:
    """Of two parts that are written alike the places, where the names in them mean the same at both."""
    place = function_at(case, taken[0].site)
    written = None if place is None else _written(case, place[0], taken)
    if place is None or written is None or len({part.of for _, part in written}) > 1:
        return
    known: dict[str, tuple[Site, _Part]] = {}
    for site, part in written:
        first = known.setdefault(part.text, (site, part))
        if first[1] is not part and _is_steady(place[0], part, first[1].line) and _is_all(place[0], written):
            yield first[0], site, part


def _written(case: Case, scope: ast.AST, taken: list[_Taken]) -> list[tuple[Site, _Part]] | None:
    """Each part as it is written in its statement; None where that cannot be told, or is in another function."""
    groups: dict[ast.stmt, list[_Taken]] = defaultdict(list)
    for one in taken:
        place = function_at(case, one.site)
        if place is None or place[0] is not scope:
            return None
        groups[place[1]].append(one)
    found: list[tuple[Site, _Part]] = []
    for statement, ones in groups.items():
        parts = sorted(_parts(statement))
        if len(parts) != len(ones):
            return None
        found += [(one.site, part) for one, (_, _, part) in zip(ones, parts, strict=True)]
    return found


def _parts(statement: ast.AST) -> Iterator[tuple[int, int, _Part]]:
    """The parts that a statement takes of names, in the order in which they are written."""
    for node in ast.walk(statement):
        of = _part_of(node)
        if of is not None and isinstance(node, ast.expr):
            text = ast.unparse(node).replace("[0:", "[:").replace(" 0:", " :")
            yield node.lineno, node.col_offset, _Part(of, text, node.lineno)


def _part_of(node: ast.AST) -> str | None:
    """The name of which an expression is a part: `h` of h[:, :4], h.chunk(2)[0], torch.narrow(h, 1, 0, 4)."""
    whole: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        whole = node.value
        if isinstance(whole, ast.Call):
            whole = _operand(whole) if last_name(whole.func) in _CUTS else None
    elif isinstance(node, ast.Call) and last_name(node.func) in _TAKES:
        whole = _operand(node)
    return whole.id if isinstance(whole, ast.Name) else None


def _operand(call: ast.Call) -> ast.expr | None:
    """`h` of h.chunk(2) and of torch.chunk(h, 2)."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    is_module = isinstance(owner, ast.Name) and owner.id == "torch"
    return (call.args[0] if call.args else None) if is_module or owner is None else owner


def _is_steady(scope: ast.AST, part: _Part, since: int) -> bool:
    """Whether no name in a part is given another value between two lines."""
    names = {one.id for one in ast.walk(ast.parse(part.text)) if isinstance(one, ast.Name)}
    between = (one for one in ast.walk(scope) if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)))
    given = (targets(one) for one in between if since <= one.lineno <= part.line)
    return all(names.isdisjoint(one) for one in given)


def _is_all(scope: ast.AST, written: list[tuple[Site, _Part]]) -> bool:
    """Whether a function reads a name nowhere else, but for its sizes."""
    of = written[0][1].of
    loads = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == of]
    reads = sum(isinstance(one.ctx, ast.Load) for one in loads)
    attributes = (one for one in ast.walk(scope) if isinstance(one, ast.Attribute) and one.attr in _SIZES)
    sizes = sum(isinstance(one.value, ast.Name) and one.value.id == of for one in attributes)
    return reads - sizes == len(written)
