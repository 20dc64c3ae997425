"""The line that puts a new layer or parameter in the place of an old one.

It is not always the line that makes the new one: values are copied over in between, or another function makes it.
"""

from __future__ import annotations

import ast

from gradscope.explain.deductions.lines.graph_cuts import birth
from gradscope.explain.deductions.steps.handed_optimizers import planning_line
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import last_name
from gradscope.model.site import Origin, Site, Stack, user_frames, user_site
from gradscope.model.training import ASSIGN, MADE

_CHAINS = ("Module", "Sequential", "ModuleList", "ModuleDict")
_BUILDS = "__init__"  # where it gets its first value


def replacing_line(case: Case, parameter: str, made: Site | None) -> Site | None:
    """Where the layer of a parameter, or the parameter, is put in place, outside of what builds it first.

    The line behind `made` in the same function comes first, then the only one anywhere; else it is `made`.
    """
    assigned = assigning_line(case)
    if assigned is not None:
        return assigned
    owner, _, name = parameter.rpartition(".")
    names = [one for one in (name, owner.rpartition(".")[2]) if one]
    found = [site for site in syntax(case).everywhere(lambda node: _puts(node, names)) if site.function != _BUILDS]
    if made is not None:
        beside = [site for site in found if site.is_in_function_of(made)]
        found = [site for site in beside if site.line >= made.line] or found
    return found[0] if len(found) == 1 else made


def exchanging_line(case: Case, parameter: str, new: Stack, old: Stack) -> Site | None:
    """Where a parameter that was made at `new` takes the place of one made at `old`.

    Of a whole new module it is a line outside of its constructor: the first that keeps it as an attribute, or that the
    old one was not built by; of a layer or parameter in a module that lives on, the line that puts it in place.
    """
    frames = user_frames(new)
    inside = [at for at, site in enumerate(frames) if _builds_a_module(case, site)]
    outside = frames[inside[-1] + 1 :] if inside else ()
    if not outside or assigning_line(case) is not None:
        return replacing_line(case, parameter, user_site(new))
    way = {*user_frames(old)}
    parts = (site for site in outside if site not in way or _is_kept_as_attribute(case, site))
    return source_lines.head(case, next(parts, outside[0]))


def _builds_a_module(case: Case, site: Site) -> bool:
    """Whether a line is in the constructor of a class that has a forward, or has torch's."""
    around = source_lines.class_around(case, site) if site.function == _BUILDS else None
    is_chain = around is not None and any(last_name(base) in _CHAINS for base in around.bases)
    return is_chain or source_lines.method(around, "forward") is not None


def _is_kept_as_attribute(case: Case, site: Site) -> bool:
    """`self.model = ...`"""
    statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
    return isinstance(statement, ast.Assign) and any(isinstance(one, ast.Attribute) for one in statement.targets)


def rebuilding_line(case: Case, new: list[int], old: list[int]) -> Site | None:
    """Where a whole model is built again: the name it is given, in the function that made the optimizer or further in.

    `new` are the parameters that train and `old` those that the optimizer holds; either may have been made last.
    """
    made = creation(case, holder_of(case, old))
    around = {(site.file, site.function) for site in made if site.origin is Origin.USER}
    later = birth(case, max(*new, *old))
    inside = user_frames(later)
    common = next((at for at, site in enumerate(inside) if (site.file, site.function) in around), None)
    if common is None:
        return None
    outward_in = reversed(inside[: common + 1])
    return next((site for site in outward_in if isinstance(syntax(case).statement(site), ast.Assign)), None)


def exchange_line(case: Case, new: Stack, optimizer: int | None, put: Site | None) -> Site | None:
    """Where the function that made an optimizer has parameters exchanged after that, however far in they are made
    (`new`) and put in place: there the order is to be changed."""
    lines = {(site.file, site.function): site.line for site in creation(case, optimizer) if site.origin is Origin.USER}
    for site in new:
        made = lines.get((site.file, site.function))
        if site.origin is Origin.USER and made is not None and site.line > made:
            return source_lines.head(case, site)
    return put


def exchange_between_steps(case: Case, new: Stack, optimizer: int | None, put: Site | None) -> Site | None:
    """The same of an optimizer that had stepped before, in a function that hands it on; of layers, and not of a whole
    module, whose line knows its owner."""
    if assigning_line(case) is not None or any(_builds_a_module(case, site) for site in user_frames(new)):
        return put
    return planning_line(case, new, optimizer, put)


def holder_of(case: Case, parameters: list[int]) -> int | None:
    """The first optimizer that holds one of these parameters."""
    looks = case.optimizer_looks()
    return next((look.optimizer for look in looks if {*parameters} & {one.tensor for one in look.parameters}), None)


def assigning_line(case: Case) -> Site | None:
    """Where load_state_dict(assign=True) replaces the parameters of a module after an optimizer was made."""
    for timeline in timelines(case):
        first = next((at for at, _ in timeline.of(MADE)), None)
        for at, call in timeline.of(ASSIGN):
            if first is not None and at > first:
                return call.site
    return None


def _puts(node: ast.AST, names: list[str]) -> bool:
    """`owner.name = ...` or `setattr(owner, "name", ...)`."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute) and target.attr in names for target in node.targets)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr"):
        return False
    return any(isinstance(one, ast.Constant) and one.value in names for one in node.args[1:2])
