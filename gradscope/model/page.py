"""The page of a code: a docstring in sections, each begun by its heading and a colon."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence


def section(page: str, heading: str, headings: Sequence[str]) -> str:
    """One section of a page as it stands, without its heading; empty when the page has none."""
    pattern = rf"^{heading}:[ \n](.*?)(?=^(?:{'|'.join(headings)}):|\Z)"
    match = re.search(pattern, inspect.cleandoc(page), re.DOTALL | re.MULTILINE)
    return inspect.cleandoc(match[1]).strip() if match else ""


def line(text: str) -> str:
    """A section as one line."""
    return " ".join(text.split())
