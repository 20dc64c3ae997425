"""GS828: numbers that are written to a weight which its parametrization computes anew at each access."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site, Stack, user_site

_ACCESS = ("torch/nn/utils/parametrize.py", "get_parametrized")
_BEFORE_FORWARD = (  # the older form keeps what it computes in an attribute, until the next forward
    ("torch/nn/utils/weight_norm.py", "compute_weight"),
    ("torch/nn/utils/spectral_norm.py", "compute_weight"),
)
_INITIALISES = "torch/nn/init.py"
_SHARES = (".data", ".detach()")


def writes_to_computed(case: Case) -> Iterator[Cause]:
    """What it flags: an initialisation, or another edit in place, of `layer.weight` behind weight_norm(layer),
    orthogonal(layer), register_parametrization(layer, ...).

    Why: the weight is no parameter any more: each access computes it from the parametrization's own parameters. What is
    written to the result is gone with it, without a word: the layer trains from its default initialisation.

    Wrong:
        layer = weight_norm(nn.Linear(8, 8))
        nn.init.uniform_(layer.weight, -bound, bound)

    Right:
        layer = nn.Linear(8, 8)
        nn.init.uniform_(layer.weight, -bound, bound)
        layer = weight_norm(layer)

    Do instead: initialise before the layer is parametrized, or assign: `layer.weight = values` asks the parametrization
    for the parameters that give them.

    How it is found: operators that ran in an access of the weight made the memory that the line writes to, and had not
    read it; nothing read it afterwards.
    """
    flow = dataflow(case)
    computed = _computed(flow)
    said: set[Site] = set()
    for storage, around in computed.items():
        if around[0] not in said and _replaces_numbers(case, around[0]) and not _is_read(flow, storage, -1):
            said.add(around[0])
            yield _cause(around[0], around)
    for at, storages in flow.written.items() if computed else ():
        operation = flow.operations[at]
        site = operation.site
        if site is None or site in said or operation.backward is not None:
            continue
        for storage in storages & computed.keys():
            if _is_meant(case, operation.operation.stack, computed[storage]) and not _is_read(flow, storage, at):
                said.add(site)
                yield _cause(site, computed[storage])


def _cause(site: Site, made: Stack) -> Cause:
    place = user_site(made)
    return Cause(
        "what is written here has no effect: the weight is computed from its parametrization, and the next access "
        "computes it anew",
        site,
        (Related("called_at", place, "the weight is computed"),) if place not in (None, site) else (),
    )


def _computed(flow: RecordedDataflow) -> dict[int, Stack]:
    """The memory that an access of a parametrized weight made, with the frames around the access."""
    found: dict[int, Stack] = {}
    for at in flow.under(lambda stack: bool(_around(stack))):
        around = _around(flow.operations[at].operation.stack)
        read = {flow.tensors[one.tensor].storage for one in flow.operations[at].reads if one.tensor in flow.tensors}
        for made in flow.operations[at].makes:
            storage = flow.tensors[made].storage if made in flow.tensors else None
            if storage is not None and storage not in read:  # else it is the parameter's own memory
                found.setdefault(storage, around)
    return found


def _around(stack: Stack) -> Stack:
    """The frames around what computes a weight anew, the older form's own left out; none where nothing does."""
    for at in reversed(range(len(stack))):
        place = _place(stack[at])
        if place == _ACCESS:
            return stack[at + 1 :]
        if place in _BEFORE_FORWARD:
            return tuple(one for one in stack[at + 1 :] if one.origin is Origin.USER)
    return ()


def _place(site: Site) -> tuple[str, str] | None:
    file = site.file.replace("\\", "/")
    known = (place for place in (_ACCESS, *_BEFORE_FORWARD) if place[1] == site.function and file.endswith(place[0]))
    return next(known, None)


def _is_meant(case: Case, stack: Stack, around: Stack) -> bool:
    """Whether the weight itself was to be written, and no name that the program keeps for its values."""
    if any(one.file.replace("\\", "/").endswith(_INITIALISES) for one in stack):
        return True
    site = user_site(stack)
    text = source_lines.edited(case, site) or ""
    for ending in _SHARES:
        text = text.removesuffix(ending)
    is_attribute = text.isprintable() and isinstance(_parsed(text), ast.Attribute)
    return is_attribute or around[0] in stack


def _replaces_numbers(case: Case, site: Site) -> bool:
    """`layer.weight.data = numbers`."""
    statement = syntax(case).statement(site)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return isinstance(target, ast.Attribute) and target.attr == "data" and isinstance(target.value, ast.Attribute)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _is_read(flow: RecordedDataflow, storage: int, after: int) -> bool:
    """Whether values of a memory went anywhere but into it after a write."""
    inside = {one.number for one in flow.tensors.values() if one.storage == storage}
    readers = (at for tensor in inside for at in flow.readers.get(tensor, ()) if at > after)
    return any(not flow.operations[at].makes or not inside.issuperset(flow.operations[at].makes) for at in readers)
