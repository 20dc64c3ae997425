"""gradscope: a microscope for PyTorch's autograd. Importing it loads no torch.

PYTEST_DONT_REWRITE: pytest warns of a plugin that was there before it, as ours is where it is traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradscope.capture import record
    from gradscope.functions.check import check_function
    from gradscope.library import load
    from gradscope.version import __version__

__all__ = ["__version__", "check_function", "load", "record"]


def __getattr__(name: str) -> Any:
    """Load the library's verbs on first use: `record` and `check_function` need torch, `load` does not."""
    if name == "__version__":
        from gradscope.version import __version__

        return __version__
    if name == "record":
        from gradscope.capture import record

        return record
    if name == "load":
        from gradscope.library import load

        return load
    if name == "check_function":
        from gradscope.functions.check import check_function

        return check_function
    raise AttributeError(f"module 'gradscope' has no attribute {name!r}")
