"""What keeps our looks at tensors out of the script's sight: no autograd, no function modes, no dispatch modes.

The surprise: `torch.no_grad()` is written in Python, so a signal handler that raises inside it can leave the script
without gradients. These guards are C++ objects, which are entered and left in one piece.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial, reduce
from operator import or_
from typing import Any

import torch

from gradscope.torch_internals.find import bound

no_autograd: Any = bound("torch._C._AutoDispatchBelowAutograd")
no_function: Any = bound("torch._C.DisableTorchFunction")
no_transforms: Any = bound("torch._C._DisableFuncTorch")  # of torch.func
no_function_of_classes: Any = bound("torch._C.DisableTorchFunctionSubclass")  # function modes stay
_exclude: Any = bound("torch._C._ExcludeDispatchKeyGuard", None)
_key: Any = bound("torch._C._dispatch_key_parse", None)
HEARD = "Fake"  # the dispatch key under which we hear operators
# Those that _DisableTorchDispatch leaves out, and ours.
_DISPATCH = ("Python", "PythonTLSSnapshot", "PreDispatch", HEARD)


def _without_dispatch() -> Any:
    if not (_exclude and _key):
        return bound("torch._C._DisableTorchDispatch")
    keys = reduce(or_, (torch._C.DispatchKeySet(_key(name)) for name in _DISPATCH))
    return partial(_exclude, keys)


no_dispatch: Any = _without_dispatch()
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
