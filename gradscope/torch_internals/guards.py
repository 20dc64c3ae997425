"""What keeps our looks at tensors out of the script's sight: no autograd, no function modes, no dispatch modes.

The surprise: `torch.no_grad()` is written in Python, so a signal handler that raises inside it can leave the script
without gradients. These guards are C++ objects, which are entered and left in one piece.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gradscope.torch_internals.find import bound

no_autograd: Any = bound("torch._C._AutoDispatchBelowAutograd")
no_function: Any = bound("torch._C.DisableTorchFunction")
no_function_of_classes: Any = bound("torch._C.DisableTorchFunctionSubclass")  # function modes stay
no_dispatch: Any = bound("torch._C._DisableTorchDispatch")
_profiled: Any = bound("torch._C._autograd._profiler_enabled", lambda: False)
_record: Any = bound("torch._C._autograd._enable_record_function", lambda on: None)
_NOT_PROFILED: AbstractContextManager[None] = nullcontext()


class _Unprofiled:
    """While the script's profiler runs: what is done here is ours."""

    def __enter__(self) -> None:
        _record(False)

    def __exit__(self, *error: object) -> None:
        _record(True)


_UNPROFILED = _Unprofiled()


def unprofiled() -> AbstractContextManager[None]:
    """Keep what we do out of the script's profile."""
    return _UNPROFILED if _profiled() else _NOT_PROFILED
