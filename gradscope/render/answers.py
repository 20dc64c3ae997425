"""Writes the answers of `gradscope who` and `gradscope why`, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from gradscope.model.answer import PathStep, Touch, Who, Why
from gradscope.model.site import Site
from gradscope.render.report_json import FORMAT, site_object
from gradscope.render.report_text import place
from gradscope.version import __version__

_MOST = 40  # lines of one table


def who_text(who: Who, recording: str) -> str:
    """A line for each operator that wrote, saved or read the tensor, in the order of the run."""
    wrote = who.wrote
    last = f"last written by {wrote.what}{_at(wrote.site)}" if wrote else "written before the recording looked"
    head = f"{who.tensor}: {who.type}, {last}"
    rows = [(_how(one), one.what, _where(one.site), _beside(one)) for one in who.touches]
    return "\n".join([head, *_table(rows)]) + "\n"


def _how(touch: Touch) -> str:
    return touch.how if touch.certain else f"{touch.how}?"


def _beside(touch: Touch) -> str:
    return touch.module or "" if touch.backward is None else f"in backward {touch.backward}"


def why_text(why: Why, recording: str) -> str:
    """The way, a line for each node or operator."""
    rows = [(one.name, _where(one.site), one.module or "", _source(one.site)) for one in why.path]
    if why.reached:
        return "\n".join([f"{why.parameter} gets a gradient in backward {why.backward}:", *_table(rows)]) + "\n"
    head = f"{why.parameter} gets no gradient" + (f": {why.message}" if why.message else "")
    cut = [f"cut at {place(why.cut)}" + (f"  {why.code}" if why.code else "")] if why.cut else []
    source = [f"  > {why.cut.source}"] if why.cut and why.cut.source else []
    way = ["its values went through:", *_table(rows)] if rows else []
    return "\n".join([head, *cut, *source, *way]) + "\n"


def who_json(who: Who, recording: str) -> str:
    """One object, "format": 1."""
    content = {"asked": who.asked, "tensor": who.tensor, "type": who.type}
    return _json(recording, content, "touches", [_touch(one) for one in who.touches])


def why_json(why: Why, recording: str) -> str:
    """One object, "format": 1."""
    content: dict[str, Any] = {"parameter": why.parameter, "reached": why.reached}
    content |= {"backward": why.backward} if why.reached else {"message": why.message}
    content |= {"code": why.code} if why.code else {}
    content |= {"cut": site_object(why.cut)} if why.cut else {}
    return _json(recording, content, "path", [_step(one) for one in why.path])


def _json(recording: str, content: dict[str, Any], name: str, rows: list[dict[str, Any]]) -> str:
    head = {"format": FORMAT, "gradscope": __version__, "recording": recording}
    return json.dumps({**head, **content, name: rows}, indent=2, ensure_ascii=False) + "\n"


def _touch(touch: Touch) -> dict[str, Any]:
    return _present(
        {
            "how": touch.how,
            "what": touch.what,
            "module": touch.module,
            "backward": touch.backward,
            "certain": touch.certain,
            "site": touch.site and site_object(touch.site),
        }
    )


def _step(step: PathStep) -> dict[str, Any]:
    site = step.site and site_object(step.site)
    return _present({"name": step.name, "node": step.node, "module": step.module, "site": site})


def _present(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}


def _where(site: Site | None) -> str:
    return place(site) if site else ""


def _source(site: Site | None) -> str:
    return (site.source or "") if site else ""


def _at(site: Site | None) -> str:
    return f" at {place(site)}" if site else ""


def _table(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    """Rows in columns; a long table loses its middle, and says so."""
    left_out = len(rows) - _MOST
    shown = rows if left_out <= 0 else [*rows[: _MOST // 2], *rows[-(_MOST // 2) :]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown]
    if left_out > 0:
        lines.insert(_MOST // 2, f"  ... {left_out} more")
    return [line.rstrip() for line in lines]
