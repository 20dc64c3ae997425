"""gradscope: a microscope for PyTorch's autograd. Importing it loads no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradscope.capture import record
    from gradscope.store.reader import load

__version__ = "0.1.0"
__all__ = ["__version__", "load", "record"]


def __getattr__(name: str) -> Any:
    """Load the library's two verbs on first use: `record` needs torch, `load` does not."""
    if name == "record":
        from gradscope.capture import record

        return record
    if name == "load":
        from gradscope.store.reader import load

        return load
    raise AttributeError(f"module 'gradscope' has no attribute {name!r}")
