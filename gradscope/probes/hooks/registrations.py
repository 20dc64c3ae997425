"""What is known of a registered hook, without the hook."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from gradscope.probes.hooks.multi_grad import Shared

# torch's function that makes the handle -> our kind. Handles of other hooks (forward, state_dict, ...) are not ours.
KINDS = {
    "register_hook": "tensor",
    "register_post_accumulate_grad_hook": "post_accumulate",
    "register_full_backward_hook": "module_backward",
    "register_full_backward_pre_hook": "module_backward_pre",
    "register_backward_hook": "module_backward",
    "register_module_full_backward_hook": "module_backward",
    "register_module_full_backward_pre_hook": "module_backward_pre",
    "register_module_backward_hook": "module_backward",
    "_register_hook": "node_post",
    "_register_hook_dict": "node_post",
}
ON_A_NODE = ("node_pre", "node_post")


class Registration:
    """A registered hook, without the hook: its number, its place in a dict, and where it hangs."""

    __slots__ = ("hint", "hooks", "key", "kind", "leaf", "name", "number", "on", "shared", "stack", "uid")

    number: int
    kind: str
    name: str
    on: str
    stack: int
    key: int  # its key in the dict
    hooks: Callable[[], Any]  # a weak reference to the dict
    uid: int  # token of the node it hangs on, 0 when not known
    hint: int  # the youngest node when it was registered: its own is often near
    leaf: weakref.ref[Any] | None  # the leaf tensor it hangs on
    shared: Shared | None  # what it shares with the other tensors of its multi-grad hook


def gone() -> None:
    """Stands for a dict that is not known yet: a signal handler may raise before it is."""


def is_registered(one: Registration) -> bool:
    """Whether a hook is still where it was put: its handle was not removed."""
    hooks = one.hooks()
    return hooks is not None and (one.kind == "retain_grad" or one.key in hooks)
