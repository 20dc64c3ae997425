"""GS888: data that is edited in place whenever it is used, and stays so for the next time."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site

_EACH_TIME = ("add_", "sub_", "mul_", "div_", "neg_", "pow_", "sqrt_", "log_", "log1p_", "exp_")  # other values again
_FORWARD, _ITEM = "forward", "__getitem__"


def data_edited(case: Case) -> Iterator[Cause]:
    """What it flags: forward(), or a dataset's __getitem__(), changes in place what it is given or has taken out.

    Why: sub_(), div_(), += and the like write into the data itself. In the next epoch it is brought to scale again,
    from what the last one has left: it drifts away from what the model was trained on.

    Wrong:
        def forward(self, x):
            return self.net(x.sub_(self.mean).div_(self.std))

    Right:
        def forward(self, x):
            return self.net((x - self.mean) / self.std)

    Do instead: write what makes a new tensor, or clone() first.

    How it is found: the line edits the first argument of a forward with gradients on, or a variable of __getitem__, and
    torch's count of the edits of that tensor, by which it knows a saved one has changed, is higher in later steps than
    in earlier ones: it is no new tensor each time.
    """
    for (site, name), found in _versions(case).items():
        if len(found) > 1:
            yield Cause(
                f"`{name}` is edited in place and stays so: it had been edited {min(found)} times when this line first "
                f"ran, and {max(found)} times later",
                site,
                certain=False,
                tensor=name,
            )


def _versions(case: Case) -> dict[tuple[Site, str], set[int]]:
    """By line and what it edits, how often that had been edited before the line's first edit of a step: layers may edit
    one in turn."""
    names: dict[Site, str | None] = {}

    def is_asked(operation: Operation) -> bool:
        site = operation.site if _is_of_data(operation) else None
        if site is not None and site not in names:
            names[site] = _edited(case, site)
        return site is not None and names[site] is not None

    found: dict[tuple[Site, str], set[int]] = defaultdict(set)
    for block, edits in case.blocks_with(is_asked):
        first: dict[Site, int] = {}
        for operation in edits if block.backward is None else ():
            site = operation.site
            versions = [each for one in operation.writes if (each := block.version_before(one)) is not None]
            if site is not None and versions:
                first[site] = min(*versions, first.get(site, versions[0]))
        for site, version in first.items():
            found[site, names[site] or ""].add(version)
    return found


def _is_of_data(operation: Operation) -> bool:
    """Whether an operator edits what is no parameter, to other values each time, with gradients on."""
    if not operation.writes or not operation.grad or base_name(operation.name) not in _EACH_TIME:
        return False
    return all(one.leaf is None for one in operation.writes)


def _edited(case: Case, site: Site) -> str | None:
    """The first argument of a forward that a line edits, or the variable of a __getitem__."""
    around = syntax(case).function(site)
    if not isinstance(around, ast.FunctionDef) or around.name not in (_FORWARD, _ITEM):
        return None
    given = [one.arg for one in around.args.args[1:2]]
    statement = syntax(case).statement(site)
    for node in () if statement is None else ast.walk(statement):
        name = source_lines.edits(node)
        if name is not None and name.isidentifier() and (around.name == _ITEM or name in given):
            return name
    return None
