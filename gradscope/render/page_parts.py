"""What every page is made of: its own files, and what a browser may do with it."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

NONE = "'none'"


def asset(name: str) -> str:
    """One of the page's own files."""
    return files("gradscope.render").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def policy(scripts: tuple[str, ...], style: str) -> str:
    """What the browser may do with the page: run these scripts, apply this style, nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts)) or NONE}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types gradscope",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
