"""Hooks that act in a backward: registered once, fired often."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack


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


@dataclass(frozen=True, slots=True)
class Firing:
    """A hook ran: `node` is the id in the graph of the node being evaluated, `changed` whether the gradient
    after it is another tensor or another version than before. `before` and `after` are the gradient's norms and
    `seconds` the time that it took, measured at `--detail full` only. `edited` tells whether it is the same tensor,
    edited in place (for a post_accumulate hook: whether the parameter is)."""

    hook: Hook
    node: int | None
    changed: bool
    before: float | None = None
    after: float | None = None
    seconds: float | None = None
    edited: bool = False


@dataclass(frozen=True, slots=True)
class HookPlace:
    """A hook that hung on node `node` when backward `backward` began."""

    backward: int
    hook: Hook
    node: int
