"""The line that lists what a helper of the program sums over the ranks: the helper may be right for another list."""

from __future__ import annotations

import ast

from gradscope.model.site import Site, Stack
from gradscope.ranks.gradients.doubled import sum_on
from gradscope.ranks.source.given import Frame, bound_in, frames_of, passed_to
from gradscope.store.reader import Recording

_LONGEST = 16  # steps from name to name


def listed_at(recording: Recording, stack: Stack) -> Site | None:
    """The line of the caller that gives a helper a list of its own making; None where the sum's own function does."""
    frames = _whole(frames_of(recording, stack))
    call = sum_on(frames[0].function, frames[0].site.line) if frames else None
    value: ast.expr | None = None if call is None else call.args[0]
    at = 0
    for _ in range(_LONGEST):
        value = value.value if isinstance(value, ast.Attribute) else value
        if not isinstance(value, ast.Name):
            break
        gone_through, given = _gone_through(frames[at], value.id), passed_to(frames, at, value.id)
        bound = bound_in(frames[at], value.id, frames[at].site.line)
        if gone_through is not None or bound is not None:
            value = gone_through or (bound[1] if bound is not None else None)
        elif given is not None:
            value, at = given, at + 1
        else:
            break
    return frames[at].site if at else None


def _whole(frames: list[Frame]) -> list[Frame]:
    """Frames without those of comprehensions, which stand below the function around them, up to Python 3.11."""
    return [one for one in frames if not one.site.function.endswith("comp>")]


def _gone_through(frame: Frame, name: str) -> ast.expr | None:
    """What a comprehension on a line goes through by a name."""
    parts = (node for node in ast.walk(frame.function) if isinstance(node, ast.comprehension))
    named = (one for one in parts if isinstance(one.target, ast.Name) and one.target.id == name)
    return next((one.iter for one in named if one.iter.lineno == frame.site.line), None)
