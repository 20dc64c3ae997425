"""Answers to what people ask of a recording by hand: who touched a tensor, and how a gradient comes to a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Site


@dataclass(frozen=True, slots=True)
class Touch:
    """An operator, or a node, that had to do with a tensor. `how` is wrote, saved or read; `what` names it.

    `backward` is the call that it ran in, None in a forward; `certain` is False for a saver that was told by its line
    and the tensor's shape.
    """

    how: str
    what: str
    site: Site | None = None
    module: str | None = None
    backward: int | None = None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Who:
    """What happened to one tensor. `type` says its dtype and shape; touches stand in the order of the run."""

    asked: str
    tensor: str
    type: str
    touches: tuple[Touch, ...]

    @property
    def wrote(self) -> Touch | None:
        """Who wrote it last."""
        return next((touch for touch in reversed(self.touches) if touch.how == "wrote"), None)


@dataclass(frozen=True, slots=True)
class PathStep:
    """A node on the way from a loss to a parameter, or an operator on the way from a parameter to where it ends."""

    name: str
    site: Site | None = None
    module: str | None = None
    node: int | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """How a gradient comes to a parameter: the way from the loss of call `backward`; or where it is cut.

    `path` runs from the loss to the parameter when there is a way, from the parameter to the cut when there is none.
    `cut` is the line to edit and `message` what happens there.
    """

    parameter: str
    backward: int | None
    path: tuple[PathStep, ...]
    cut: Site | None = None
    message: str = ""
    code: str | None = None

    @property
    def reached(self) -> bool:
        """Whether a backward reached it."""
        return self.backward is not None
