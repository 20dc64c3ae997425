"""Makes dispatch modes of a function of ours, which compilers let pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradscope.torch_internals.find import bound

_MODE: Any = bound("torch.utils._python_dispatch.TorchDispatchMode", object)
Dispatch = Callable[[Any, Any, Any, Any, Any], Any]


def mode_class(dispatch: Dispatch) -> Any:
    """A dispatch mode that compilers and higher-order operators let pass."""

    class Mode(_MODE):  # type: ignore[misc]  # whatever class this torch has
        supports_higher_order_operators = True  # else cond, while_loop, scan and flex_attention raise

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True

    Mode.__torch_dispatch__ = dispatch  # after the class: else torch wraps it, and each operator pays
    return Mode
