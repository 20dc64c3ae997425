"""Finds out about hooks what torch does not say: who registers one, on which node it hangs, whether it has acted."""

from __future__ import annotations

from typing import Any

from torch.utils import hooks as torch_hooks

from gradscope.signals import attribute


def is_mechanism(frame: Any) -> bool:
    """Whether torch itself registers the hook, to make module hooks work."""
    caller = frame.f_back
    return caller is not None and caller.f_code.co_filename == torch_hooks.__file__


def calling(frame: Any, name: str) -> Any:
    """The frame of a torch function a little further up, None when it is not there."""
    for _ in range(3):
        frame = frame.f_back
        if frame is None:
            return None
        if frame.f_code.co_name == name:
            return frame
    return None


def wrapped_by(hook: Any) -> Any:
    """The module whose old-style hook torch has wrapped to hang it on a node; None for any other hook."""
    if type(hook).__name__ != "_WrappedHook" or not attribute(hook, "with_module", False):
        return None
    return hook.module()


def nothing(*arguments: object) -> None:
    """A hook that does nothing."""


def holds(node: Any, hooks: Any) -> str | None:
    """Whether a dict is one of a node's: torch hands out the dict with the handle of any new hook."""
    for kind, register in (("node_pre", node.register_prehook), ("node_post", node.register_hook)):
        following = torch_hooks.RemovableHandle.next_id
        handle = register(nothing)
        found = handle.hooks_dict_ref() is hooks
        handle.remove()
        torch_hooks.RemovableHandle.next_id = following  # leave no trace in the numbering
        if found:
            return kind
    return None
