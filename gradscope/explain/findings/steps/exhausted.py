"""GS826: an iterator that an optimizer or a loop has gone through, and that is used again afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.lost_when_remade import lost_when_remade
from gradscope.explain.deductions.memory.spent_iterators import after, is_iterator, spent_iterators
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.model.training import MADE

_ITERATORS = ("filter", "chain", "parameters")  # calls that give what runs out


@dataclass(frozen=True, slots=True)
class _Used:
    """A name that stands for an iterator: the statement that gives it, and a later one that reads it once more."""

    name: str
    given: ast.stmt
    again: ast.Name


def iterator_exhausted(case: Case) -> Iterator[Cause]:
    """What it flags: an iterator over parameters that is used again when an optimizer, or a loop, has gone through it.

    Why: filter(), a generator and model.parameters() give each parameter once. The optimizer's constructor reads them
    to the end; clipping, an average of weights or a norm that gets the same iterator has nothing, and says nothing.

    Wrong:
        trained = filter(lambda p: p.requires_grad, model.parameters())
        optimizer = torch.optim.AdamW(trained)
        norm = sum(p.norm() for p in trained)

    Right:
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained)
        norm = sum(p.norm() for p in trained)

    Do instead: keep the parameters in a list: list(model.parameters()), list(zip(...)).

    How it is found: where an optimizer was made, the program gives it a name that stands for such an iterator, and
    reads this name once more in what runs after that, without having given it anything else. A class of the program's
    own may have a parameters() that gives a list: then nothing is said of that. Of an attribute: a loop goes through
    it whose operators ran once, in a method that is called beside a backward that ran again and again. Of what is
    handed to a function that ran: it goes through its parameter twice, and does not make a list of it. Or one line
    makes optimizers again and again, what the first held gets gradients on and is held by none from the second on, and
    an iterator that is made elsewhere is read there.
    """
    for lost in lost_when_remade(case):
        yield Cause(
            f"this is an iterator, and the first optimizer has gone through it: the next that line {lost.made.line} "
            f"makes gets nothing of it, and {several(lost.leaves)} are no longer trained",
            lost.site,
            (Related("declared_at", lost.made, "the optimizer"),),
            advice="keep the parameters in a list, or make the iterator anew for each optimizer",
            tensor=lost.leaves[0],
            weight=len(lost.leaves),
        )
    for spent in spent_iterators(case):
        yield Cause(
            f"`{spent.name}` is an iterator, and {spent.by} has gone through it: from then on line "
            f"{spent.loop.line} gets nothing of it",
            spent.made,
            (Related("called_at", spent.loop, "used again"),),
        )
    said: set[Site] = set()
    calls = (call for timeline in timelines(case) for _, call in timeline.of(MADE))
    for made in dict.fromkeys(call.site for call in calls):
        used = _used_again(case, made) if made is not None else None
        if made is not None and used is not None:
            site = syntax(case).site(made.file, used.given.lineno)
            again = syntax(case).site(made.file, used.again.lineno)
            if site not in said:
                said.add(site)
                yield Cause(
                    f"`{used.name}` is an iterator, and the optimizer has gone through it: line {again.line} gets "
                    "nothing of it",
                    site,
                    (Related("called_at", made, "the optimizer"), Related("called_at", again, "used again")),
                )


def made_iterator(case: Case, used: Site) -> tuple[Site, str] | None:
    """The only line that gives what the call at a line is given first, an attribute or a name, where that is an
    iterator; and how it is called."""
    calls = [one for one in syntax(case).nodes(used.file) if isinstance(one, ast.Call) and one.args]
    given = [one.args[0] for one in calls if one.lineno <= used.line <= (one.end_lineno or one.lineno)]
    value: ast.expr | None = next((one for one in given if isinstance(one, (ast.Name, ast.Attribute))), None)
    seen: set[str] = set()
    while isinstance(value, (ast.Name, ast.Attribute)) and (name := ast.unparse(value)) not in seen:
        seen.add(name)
        made = [
            one
            for one in syntax(case).nodes(used.file)
            if isinstance(one, ast.Assign) and [ast.unparse(target) for target in one.targets] == [name]
        ]
        if len(made) != 1:
            return None
        if _is_iterator(case, made[0]):
            return syntax(case).site(used.file, made[0].lineno), name
        value = made[0].value
    return None


def _used_again(case: Case, made: Site) -> _Used | None:
    """The iterator that an optimizer was made of, and where what runs later reads it again."""
    parsed = syntax(case).parsed(made.file)
    statement, around = parsed.whole_statements.get(made.line), syntax(case).function(made)
    if statement is None or around is None:
        return None
    for name in _names_given(statement, made.line):
        given = [one for one in ast.walk(around) if isinstance(one, ast.stmt) and _gives(one, name)]
        later = [one for block in after(around, statement) for one in ast.walk(block) if isinstance(one, ast.Name)]
        again = next((one for one in later if one.id == name and isinstance(one.ctx, ast.Load)), None)
        if len(given) == 1 and _is_iterator(case, given[0]) and again is not None:
            return _Used(name, given[0], again)
    return None


def _names_given(statement: ast.stmt, line: int) -> Iterator[str]:
    """The plain names that the calls at a line are given."""
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and call.lineno <= line <= (call.end_lineno or call.lineno):
            yield from (one.id for one in call.args if isinstance(one, ast.Name))
            yield from (one.value.id for one in call.keywords if isinstance(one.value, ast.Name))


def _gives(statement: ast.stmt, name: str) -> bool:
    """Whether a statement itself gives a name a value."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    targets = [statement.target] if isinstance(statement, (ast.For, ast.AugAssign, ast.AnnAssign)) else []
    targets += statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target))


def _is_iterator(case: Case, given: ast.stmt) -> bool:
    return isinstance(given, (ast.Assign, ast.AnnAssign)) and is_iterator(case, given.value, _ITERATORS)
