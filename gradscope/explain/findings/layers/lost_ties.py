"""GS710: two weights that were made one, and are two since something new was put in the place of one of them."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import birth
from gradscope.explain.deductions.lines.source_ties import (
    Replacement,
    Tie,
    comes_after,
    has_run,
    puts,
    replacements,
    ties,
)
from gradscope.explain.deductions.steps.gradients_of_steps import states_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_frames
from gradscope.model.training import ASSIGN, PARTED

_LOOKS_UP = ("embedding", "embedding_bag")


@dataclass(frozen=True, slots=True)
class _Apart:
    """Two leaves of one backward under the names of a tie."""

    one: FlowTensor
    other: FlowTensor
    backward: int


def lost_tie(case: Case) -> Iterator[Cause]:
    """What it flags: a new layer or parameter that is put in the place of one of two that share their weight.

    Why: `score.weight = items.weight` gives one tensor two names. A new Embedding behind the one name does not reach
    the other: the two tables train apart from then on, and one of them begins with what the other no longer has.

    Wrong:
        self.score.weight = self.items.weight
        ...
        model.items = nn.Embedding.from_pretrained(vectors, freeze=False)

    Right:
        model.items = nn.Embedding.from_pretrained(vectors, freeze=False)
        model.score.weight = model.items.weight

    Do instead: tie the two again after the replacement, or write the new values into the weight that is there: with
    torch.no_grad(): weight.copy_(vectors), or load_state_dict.

    How it is found: the source makes the two one, and a backward gives gradients to both as two tensors. That it was
    tied shows in where the tensor was made that now has the second name, or follows where the class ties them as it
    is built. The line is the only one that puts a layer or a weight in that place. Of other sizes than before it is a
    hint where a table is looked up that now has more rows, and nothing else is told; a new layer of the same size that
    is not looked up is one too.
    """
    if any(True for timeline in timelines(case) for _ in timeline.of(ASSIGN, PARTED)):
        return
    for tie in ties(case):
        apart = _apart(case, tie)
        found = None if apart is None else _replaced(case, tie, apart)
        if apart is not None and found is not None:
            yield from _cause(case, tie, apart, *found)


def _apart(case: Case, tie: Tie) -> _Apart | None:
    """The two leaves in the last backward that reached both."""
    tensors = dataflow(case).tensors
    for backward in sorted(states_at(case).keys() & case.graph_sizes().keys(), reverse=True):
        leaves = [tensors[one] for one in states_at(case)[backward] if one in tensors and tensors[one].parameter]
        named = {leaf.leaf: leaf for leaf in leaves if leaf.leaf}
        for name, one in named.items():
            other = named.get(f"{name[: -len(tie.one)]}{tie.other}") if _ends(name, tie.one) else None
            if other is not None and one.storage != other.storage and _fit(one, other):
                return _Apart(one, other, backward)
    return None


def _ends(name: str, weight: str) -> bool:
    return name == weight or name.endswith(f".{weight}")


def _fit(one: FlowTensor, other: FlowTensor) -> bool:
    """Whether both are tables of rows of one length."""
    shapes = one.type.shape, other.type.shape
    return min(map(len, shapes)) > 1 and shapes[0][1:] == shapes[1][1:] and math.prod(shapes[0]) > 1


def _replaced(case: Case, tie: Tie, apart: _Apart) -> tuple[FlowTensor, str, Replacement] | None:
    """Which of the two was replaced, its name in the tie, and where."""
    birthplaces = list(_birthplaces(case, apart.one, tie.other))
    if birthplaces and not set(birthplaces) & set(_birthplaces(case, apart.other, tie.other)):
        line = _line(case, tie, tie.other, tie.one, apart.other)
        return None if line is None else (apart.other, tie.other, line)
    for new, name, partner, old in (
        (apart.one, tie.one, tie.other, apart.other),
        (apart.other, tie.other, tie.one, apart.one),
    ):
        line = _line(case, tie, name, partner, new)
        built = has_run(case, tie) and _is_built_in(case, _birthplaces(case, old, partner), tie.owner)
        if line is not None and (built or _runs_after(case, tie, line)) and not _is_built(case, new, name, line):
            return new, name, line
    return None


def _runs_after(case: Case, tie: Tie, line: Replacement) -> bool:
    """Whether one function ties and replaces, in this order, and has been called."""
    name = getattr(tie.function, "name", "<module>")
    runs = (tie.site.file, name)
    return comes_after(tie, line) and bool(
        dataflow(case).under(lambda stack: any((site.file, site.function) == runs for site in stack))
    )


def _birthplaces(case: Case, leaf: FlowTensor, weight: str) -> Iterator[Site]:
    """The lines that put the layer of a weight in place, in which a tensor was made."""
    for site in user_frames(birth(case, leaf.number)):
        if puts(syntax(case).statement(site), weight):
            yield site


def _is_built_in(case: Case, places: Iterator[Site], owner: ast.ClassDef | None) -> bool:
    """Whether a layer was made by the class that ties it."""
    lines = range(0) if owner is None else range(owner.lineno, (owner.end_lineno or 0) + 1)
    return any(site.line in lines and site.function == "__init__" for site in places)


def _is_built(case: Case, new: FlowTensor, weight: str, line: Replacement) -> bool:
    """Whether what is there was made where the object was built: then it was never tied."""
    places = _birthplaces(case, new, weight)
    return any(site.function == "__init__" and site.line != line.site.line for site in places)


def _line(case: Case, tie: Tie, weight: str, partner: str, new: FlowTensor) -> Replacement | None:
    """The line that put something in the place of a weight: the only one that there is, or that which made it."""
    lines = [
        one
        for one in replacements(case, weight, partner)
        if one.site != tie.site and (not one.builds or comes_after(tie, one))
    ]
    if len(lines) > 1:
        made = [(site.file, site.line) for site in user_frames(birth(case, new.number))]
        lines = [one for one in lines if (one.site.file, one.site.line) in made]
    return lines[0] if len(lines) == 1 else None


def _cause(case: Case, tie: Tie, apart: _Apart, new: FlowTensor, weight: str, line: Replacement) -> Iterator[Cause]:
    same, looked_up = apart.one.type.shape == apart.other.type.shape, _is_looked_up(case, new)
    owner = tie.owner
    inside = owner is not None and owner.lineno <= line.site.line <= (owner.end_lineno or 0)
    if not same and not looked_up:
        return
    sure = same and (looked_up or inside)
    kept = apart.other if new is apart.one else apart.one
    yield Cause(
        f"what this puts in the place of {weight} is not tied any more: {new.leaf} and {kept.leaf} are two tensors "
        "since, and train apart",
        line.site,
        (Related("cause_at", tie.site, "ties them"),),
        certain=sure,
        severity=None if sure else Severity.INFO,
        tensor=new.leaf,
        backward=apart.backward,
    )


def _is_looked_up(case: Case, leaf: FlowTensor) -> bool:
    flow = dataflow(case)
    return any(base_name(flow.operations[at].operation.name) in _LOOKS_UP for at in flow.readers.get(leaf.number, ()))
