"""Which torch.func transforms something ran under, read off its stack.

The surprise: torch's own stack of levels does not tell. A vmap inside a grad is taken off before the node is built, so
the frames that push levels (torch/_functorch, torch 2.13) are asked instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from gradscope.model.site import Origin, Site, Stack

# the functions of torch/_functorch that hold a level open while they call the user's function
PUSHERS = {
    ("vmap.py", "_flat_vmap"): "Vmap",
    ("eager_transforms.py", "grad_and_value_impl"): "Grad",
    ("eager_transforms.py", "_vjp_with_argnums"): "Grad",
    ("eager_transforms.py", "_jvp_with_argnums"): "Jvp",
    ("eager_transforms.py", "wrapped"): "Functionalize",
}
# what the user called, by a function on the way there; the outermost that is known decides
ENTRIES = {
    "grad_impl": "grad",
    "grad_and_value_impl": "grad_and_value",
    "vjp": "vjp",
    "jvp": "jvp",
    "push_jvp": "jacfwd",
    "vmap_impl": "vmap",
}


# what lies between a push and whoever called the transform
_BETWEEN = ("contextlib.py", "vmap.py", "apis.py", "eager_transforms.py")


@dataclass(frozen=True, slots=True)
class Under:
    """One transform that was open: its kind, what the user called to open it, and the line that did."""

    kind: str
    name: str
    site: Site | None


def transforms(stack: Stack) -> tuple[Under, ...]:
    """The transforms on a stack, outermost first."""
    return tuple(_found(stack))


def pushes(site: Site) -> str | None:
    """The kind of level that a frame holds open while it calls the user's function."""
    path = PurePath(site.file)
    return PUSHERS.get((path.name, site.function)) if path.parent.name == "_functorch" else None


def is_for_a_rule(stack: Stack) -> bool:
    """Whether torch itself pushed this level, to run the vmap rule that it generates for a custom Function."""
    caller = next((site for site in stack if PurePath(site.file).name not in _BETWEEN), None)
    return caller is not None and PurePath(caller.file).parts[-2:] == ("_functorch", "autograd_function.py")


def _found(stack: Stack) -> Iterator[Under]:
    called: Site | None = None
    way: list[str] = []  # torch.func's functions since the last level or frame of others
    for site in reversed(stack):
        if site.origin is not Origin.TORCH:
            called, way = site, []
            continue
        if PurePath(site.file).parent.name != "_functorch":
            continue
        way.append(site.function)
        if kind := pushes(site):
            yield Under(kind, _name(kind, way), called)
            way = []


def _name(kind: str, way: list[str]) -> str:
    """What the user called: jacrev and jacfwd are made of vmap and vjp or jvp."""
    if any(function.startswith("compute_jacobian") for function in way):
        return "jacrev"
    if "wrapper_fn" in way:
        return "jacrev" if kind == "Grad" else "jacfwd"
    return next((ENTRIES[function] for function in way if function in ENTRIES), kind.lower())
