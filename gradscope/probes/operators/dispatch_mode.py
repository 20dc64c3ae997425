"""The dispatch mode through which operators are seen.

The surprise: before each operator torch asks `find_torch_dispatch_rule`, in Python, whether the mode has a rule for it.
Answered with the mode's own function, that question saves the look-up of its method, a tenth of the mode's price.
"""

from __future__ import annotations

import threading
from types import FunctionType
from typing import Any

from gradscope.torch_internals.dispatch_mode import Dispatch, mode_class
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import bound

_modes: Any = bound("torch.utils._python_dispatch._get_current_dispatch_mode_stack")
_count_modes: Any = bound("torch._C._len_torch_dispatch_stack")
_mode_at: Any = bound("torch._C._get_dispatch_stack_at")
_pop_mode: Any = bound("torch._C._pop_torch_dispatch_stack")
_push_mode: Any = bound("torch._C._push_on_torch_dispatch_stack")
_ASKED = "torch._library.simple_registry.find_torch_dispatch_rule"


class DispatchMode:
    """A dispatch mode with a function of ours; `mode` can be entered in more threads."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._class = mode_class(dispatch)
        self._dispatch = dispatch
        found = bound(_ASKED, None)
        answers = isinstance(found, FunctionType) and found.__code__.co_varnames[:2] == ("op", "torch_dispatch_class")
        self._find: FunctionType | None = found if answers and "singleton" in found.__globals__ else None
        self.mode = self._class()
        self._taken_off = False
        self._below: list[int] = []  # the modes under it then
        self._thread = 0  # the one that entered it first

    def __enter__(self) -> DispatchMode:
        if self._find is not None:
            self._original = self._find.__code__, self._find.__defaults__
            self._find.__code__, self._find.__defaults__ = _find_rule.__code__, (self._class, self._dispatch)
            skip(self._find)
        self.mode.__enter__()
        self._thread = threading.get_ident()
        return self

    def __exit__(self, *error: object) -> None:
        if _is_innermost(self.mode):
            self.mode.__exit__(None, None, None)
        if self._find is not None:
            self._find.__code__, self._find.__defaults__ = self._original

    def follow(self, recorded: bool) -> None:
        """Take the mode off while nothing is recorded.

        Not when the script has put modes of its own over it, nor on again among others than before; and only in the
        thread that entered it first: the others leave it at their end, and count on its being there.
        """
        if recorded is not self._taken_off or threading.get_ident() != self._thread:
            return
        modes = _modes()
        if self.mode in modes:
            if not recorded and modes[-1] is self.mode:
                self.mode.__exit__(None, None, None)
                self._below = [id(mode) for mode in modes[:-1]]
                self._taken_off = True
        elif recorded and [id(mode) for mode in modes] == self._below:
            self.mode.__enter__()
            self._taken_off = False

    def is_alone(self) -> bool:
        """Whether the running thread is the one that entered the mode first, and has no other."""
        return threading.get_ident() == self._thread and _count_modes() == 1 and _is_innermost(self.mode)

    def pause(self) -> bool:
        """Take the mode off for a moment, if it is alone; answers whether it was.

        The stack alone is changed: torch puts it back itself when a node raises, but not what `mode.__exit__` notes.
        """
        alone = self.is_alone()
        if alone:
            _pop_mode(None)
        return alone

    def resume(self) -> None:
        """Put it back, unless torch has."""
        if self.mode not in _modes():
            _push_mode(self.mode)


def _is_innermost(mode: Any) -> bool:
    """Whether leaving takes this mode from the stack: a forked child may be inside of another one, or of ours."""
    depth = _count_modes()
    return depth > 0 and _mode_at(depth - 1) is mode


def _find_rule(op: Any, torch_dispatch_class: type, ours: type | None = None, dispatch: Any = None) -> Any:
    """Torch's find_torch_dispatch_rule, which answers for our class at once. It runs with the globals of torch's."""
    if torch_dispatch_class is ours:
        return dispatch
    return singleton.find(  # type: ignore[name-defined]  # noqa: F821
        op.__qualname__
    ).torch_dispatch_rules.find(torch_dispatch_class)
