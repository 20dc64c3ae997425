"""Where a module was built: its settings are chosen there, not where it is called."""

from __future__ import annotations

from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.graph import Node
from gradscope.model.module import ModuleCall
from gradscope.model.site import Site


def built_at(case: Case, module: ModuleCall | None, inplace: bool = False) -> Site | None:
    """The line that built one of torch's own modules, or one that edits `inplace`; None where several lines did."""
    if module is None:
        return None
    named = [one for one in case.declarations() if (one.path, one.module_class) == (module.path, module.module_class)]
    sites = {one.site for one in named if one.inplace or not inplace}
    return sites.pop() if len(sites) == 1 else None


def chosen_at(case: Case, node: Node) -> tuple[Site | None, tuple[Related, ...]]:
    """The line to edit where a node's operator is wrong, and the line that called it beside it."""
    built = built_at(case, node.module)
    if built is None or built == node.site or node.site is None:
        return node.site, ()
    return built, (Related("called_at", node.site, node.name),)
