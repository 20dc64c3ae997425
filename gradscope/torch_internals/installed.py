"""Whether torch is there at all: commands that run something ask before they do anything else."""

from __future__ import annotations

import importlib.util
import sys

from gradscope.errors import UsageError


def require_torch(*capabilities: str) -> None:
    """Import torch, and ask for capabilities. Raises UsageError where that cannot be."""
    try:
        import torch  # noqa: F401

        from gradscope.torch_internals.lacks import require
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise UsageError(f"torch cannot be imported: {error}", _HINT) from None
        raise UsageError(*_NOT_INSTALLED) from None
    except (ImportError, OSError) as error:
        raise UsageError(f"torch cannot be imported: {error}", _HINT) from None
    require(*capabilities)


def require_installed_torch() -> None:
    """Ask whether torch is there without importing it. Raises UsageError where it is not."""
    if sys.modules.get("torch") is None and importlib.util.find_spec("torch") is None:
        raise UsageError(*_NOT_INSTALLED)


_NOT_INSTALLED = (
    "torch is not installed here, and this needs it",
    "pip install torch; the commands that read a recording work without it",
)
_HINT = '`python -c "import torch"` shows why'
