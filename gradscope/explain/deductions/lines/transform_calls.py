"""Where the program called the torch.func transforms that a failure or an operator ran under."""

from __future__ import annotations

from gradscope.graphs.transforms import Under
from gradscope.model.finding import Related
from gradscope.model.site import Site


def called_at(under: tuple[Under, ...], kind: str | None = None) -> tuple[Related, ...]:
    """The calls of the transforms, each line once: hessian is jacfwd twice and jacrev."""
    names: dict[Site | None, dict[str, None]] = {}
    for one in under:
        if kind in (None, one.kind):
            names.setdefault(one.site, {})[one.name] = None
    return tuple(Related("cause_at", site, " of ".join(called)) for site, called in names.items())
