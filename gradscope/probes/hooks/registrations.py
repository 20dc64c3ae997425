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

    __slots__ = (
        *("copied", "hint", "hooks", "key", "kind", "leaf", "looked", "name", "number", "on", "shared", "repeated"),
        *("since", "stack", "uid"),
    )

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
    copied: bool  # it is in a module's dict, which is copied at each forward
    repeated: bool  # a module's old-style hook, at a node of one forward
    looked: bool  # a backward has begun since
    since: int | None  # the first backward that found it in its place


def again(one: Registration, hint: int) -> Registration:
    """The same hook at another place, which is not known yet."""
    copy = Registration()
    copy.number, copy.kind, copy.name, copy.on, copy.stack = one.number, one.kind, one.name, one.on, one.stack
    copy.uid, copy.hint, copy.leaf, copy.shared, copy.key, copy.hooks = 0, hint, None, None, 0, gone
    copy.copied, copy.repeated, copy.looked, copy.since = False, True, False, None
    return copy


def gone() -> None:
    """Stands for a dict that is not known yet: a signal handler may raise before it is."""


def is_registered(one: Registration) -> bool:
    """Whether a hook is still where it was put: its handle was not removed."""
    hooks = one.hooks()
    return hooks is not None and (one.kind == "retain_grad" or one.key in hooks)


def is_gone(one: Registration) -> bool:
    """Whether it was removed. What is not in its dict yet when the first backward begins may still be put there."""
    return one.hooks() is None or (one.looked and not is_registered(one))
