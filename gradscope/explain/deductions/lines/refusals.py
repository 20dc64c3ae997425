"""What torch says when it refuses what it is given, what that means, and the line to edit: where the module that
refuses was built with other settings, or else the call."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.failed_forward import operations_before
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site

_NEAR = 4  # operators before a failure, of which the last is the one that was refused

Where = Callable[[Case, Failure, tuple[str, ...]], Site | None]  # the last are what the words' groups found


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal of torch's: its words, what it means and what to do, both with what the words' groups found.

    `modules` are the classes (or schedules) whose settings are to blame: the line that built the one that refuses is
    named where it is known. `functions` are those of torch's that raise it, where others use the same words. `where`
    finds the line to edit where that is another one; the line that fails is then `role`. What is `placed` is told only
    where that line is found: its words say too little by themselves.
    """

    words: re.Pattern[str]
    told: str
    advice: str
    modules: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    where: Where | None = None
    role: str = "the call"
    placed: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A failure, the refusal that it is, what its words named, and the line to edit if it is not the one that fails."""

    failure: Failure
    refusal: Refusal
    groups: tuple[str, ...]
    built: Site | None

    @property
    def cause(self) -> Cause:
        """What is told of it: `built` is the line to edit, else the one that fails."""
        failed = self.failure.site
        return Cause(
            self.refusal.told.format(*self.groups),
            self.built or failed,
            () if self.built in (None, failed) else (Related("fails_at", failed, self.refusal.role),),
            fails=True,
            certain=False,
            advice=self.refusal.advice.format(*self.groups),
        )


def refused(case: Case, table: tuple[Refusal, ...]) -> Iterator[Refused]:
    """The failures whose words are in the table: the first that fits each."""
    for failure in case.failures():
        inner = {site.function for site in failure.stack[:2] if site.origin is Origin.TORCH}
        for refusal in table:
            found = refusal.words.search(failure.message)
            if found is not None and (not refusal.functions or inner & {*refusal.functions}):
                groups = tuple(group or "" for group in found.groups())
                other = refusal.where(case, failure, groups) if refusal.where is not None else None
                other = other or _built(case, failure, refusal.modules)
                if other is not None or not refusal.placed:
                    yield Refused(failure, refusal, groups, other)
                    break


def _built(case: Case, failure: Failure, modules: tuple[str, ...]) -> Site | None:
    """Where the module was built in which the last operator ran, or what is called by its name."""
    if not modules or not any(site.function in ("forward", "step") for site in failure.stack if _is_torch(site)):
        return None
    before = operations_before(case, failure, _NEAR)
    last = next((one for one in reversed(before) if not one.name.startswith("profiler.")), None)  # a wrapper's marks
    running = None if last is None else last.module
    for module in reversed(running.chain) if running is not None else ():
        if module.module_class in modules and (built := built_at(case, module)) is not None:
            return built
    return _named(case, failure, modules)


def _is_torch(site: Site) -> bool:
    return site.origin is Origin.TORCH


def _named(case: Case, failure: Failure, modules: tuple[str, ...]) -> Site | None:
    """The only line that builds such a module, or schedule, under the name that is called where it failed."""
    if failure.site is None:
        return None
    calls = [one for one in syntax(case).nodes(failure.site.file) if isinstance(one, ast.Call)]
    at_line = [one.func for one in calls if one.lineno <= failure.site.line <= (one.end_lineno or one.lineno)]
    names = {last_name(one) for one in at_line}
    names |= {last_name(one.value) for one in at_line if isinstance(one, ast.Attribute) and one.attr == "step"}
    made = {site for file in syntax(case).files for site in _assigned(case, file, names, modules)}
    return made.pop() if len(made) == 1 else None


def _assigned(case: Case, file: str, names: set[str], modules: tuple[str, ...]) -> Iterator[Site]:
    for node in syntax(case).nodes(file):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            called = {last_name(one) for target in targets for one in _parts(target)}
            if last_name(node.value.func) in modules and called & names:
                yield syntax(case).site(file, node.value.lineno)


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]
