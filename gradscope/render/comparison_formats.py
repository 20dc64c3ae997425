"""The formats of `gradscope diff`. The choices of `--fmt` and the tests derive from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

import click

from gradscope.model.comparison import Comparison
from gradscope.render import comparison_text


@dataclass(frozen=True, slots=True)
class Look:
    """Whether what is written may carry colours."""

    color: bool = False


@dataclass(frozen=True, slots=True)
class ComparisonFormat:
    """A name for `--fmt`, the suffix that `-o` guesses it from, and what writes it."""

    name: str
    suffix: str
    render: Callable[[Comparison, Look], str]


def _text(comparison: Comparison, look: Look) -> str:
    text = comparison_text.render(comparison)
    return text if look.color else click.unstyle(text)


def _json(comparison: Comparison, look: Look) -> str:
    from gradscope.render import comparison_json

    return comparison_json.render(comparison)


def _html(comparison: Comparison, look: Look) -> str:
    from gradscope.render import comparison_html

    return comparison_html.render(comparison)


COMPARISON_FORMATS = {
    form.name: form
    for form in (
        ComparisonFormat("text", ".txt", _text),
        ComparisonFormat("json", ".json", _json),
        ComparisonFormat("html", ".html", _html),
    )
}


def choose(name: str | None, output: str | None) -> ComparisonFormat:
    """The format that was named, else the one of the output's suffix, else text."""
    if name is not None:
        return COMPARISON_FORMATS[name]
    suffix = PurePath(output).suffix.lower() if output else ""
    found = (form for form in COMPARISON_FORMATS.values() if form.suffix == suffix)
    return next(found, COMPARISON_FORMATS["text"])
