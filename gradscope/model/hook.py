"""Hooks that act in a backward: registered once, fired often."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradscope.model.site import Located, Stack

IGNORED = "told to ignore"  # in what a reducer is on: it leaves parameters alone, because the program wants it so


@dataclass(frozen=True, slots=True)
class Hook(Located):
    """A registered hook.

    `kind` is tensor, multi_grad, retain_grad, node_pre, node_post, post_accumulate, module_backward_pre,
    module_backward or reducer (DistributedDataParallel's). `name` is the hook function's qualified name, `stack` the
    line that registered it, `on` what it hangs on in words (a parameter's, node's or module's name), `number` counts
    registrations of the run from 0.
    """

    number: int
    kind: str
    name: str
    on: str
    stack: Stack = ()


BEFORE_A_NODE = ("tensor", "multi_grad", "retain_grad", "node_pre", "module_backward_pre")  # kinds


class Effect(enum.Enum):
    """What a hook did to the gradient that it got, or to the parameter of a post_accumulate hook.

    That it was replaced or edited does not say that its values are others.
    """

    LEFT_ALONE = "left it alone"
    REPLACED = "gave another tensor"
    EDITED = "edited it in place"
    RAISED = "raised"
    UNSEEN = "not observed"


@dataclass(frozen=True, slots=True)
class Firing:
    """A hook ran: `node` is the id in the graph of the node being evaluated. `before` and `after` are the gradient's
    norms and `seconds` the time that it took, measured at `--detail full` only.
    """

    hook: Hook
    node: int | None
    effect: Effect = Effect.LEFT_ALONE
    before: float | None = None
    after: float | None = None
    seconds: float | None = None

    @property
    def changed(self) -> bool:
        """Whether the gradient after it is another tensor or another version than before."""
        return self.effect in (Effect.REPLACED, Effect.EDITED)

    @property
    def words(self) -> str:
        """What it did, for people. A post_accumulate hook is given a parameter, with its gradient."""
        if self.hook.kind == "post_accumulate" and self.changed:
            return "edited the parameter" if self.effect is Effect.EDITED else "changed its .grad"
        return self.effect.value


@dataclass(frozen=True, slots=True)
class HookPlace:
    """A hook that hung on node `node` when backward `backward` began."""

    backward: int
    hook: Hook
    node: int
