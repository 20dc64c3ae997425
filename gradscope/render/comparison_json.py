"""Two runs side by side as one JSON object, "format": 1. Absent facts are left out, never null."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gradscope.model.comparison import Comparison, Difference, Edit, Side, Subject
from gradscope.model.site import Site
from gradscope.version import __version__
from gradscope.view.comparison import headline, identical

FORMAT = 1
Object = dict[str, Any]


def render(comparison: Comparison) -> str:
    """The whole comparison."""
    content: Object = {"format": FORMAT, "gradscope": __version__, "equal": comparison.equal}
    content |= {"a": _subject(comparison.first), "b": _subject(comparison.second)}
    content["says"] = headline(comparison)
    if not comparison.equal:
        content["identical"] = identical(comparison)
    content["differences"] = [_difference(one) for one in comparison.differences]
    content["compared"] = [
        {"what": tally.aspect.name, "a": tally.first, "b": tally.second, "differ": tally.differ or 0}
        for tally in comparison.tallies
    ]
    content["ignored"] = list(comparison.ignored)
    content["circumstances"] = [{"name": c.name, "a": c.first, "b": c.second} for c in comparison.circumstances]
    content["edits"] = [_edit(edit) for edit in comparison.edits]
    content["notes"] = list(comparison.notes)
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _subject(subject: Subject) -> Object:
    found = {"recording": subject.path, "program": subject.program}
    return found if subject.step is None else {**found, "step": subject.step}


def _difference(difference: Difference) -> Object:
    content: Object = {"what": difference.aspect.name, "backward": difference.moment.backward}
    if difference.step is not None:
        content["step"] = difference.step
    content |= {"stage": difference.moment.stage.name.lower(), "position": difference.moment.position}
    if difference.site is not None:
        content["site"] = _site(difference.site)
    for name, side in (("a", difference.first), ("b", difference.second)):
        if side.words:
            content[name] = _side(side)
    if difference.edit is not None:
        content["edit"] = _edit(difference.edit)
    if difference.rows:
        content["around"] = [{"mark": mark, **_side(side)} for mark, side in difference.rows]
    return content


def _side(side: Side) -> Object:
    content: Object = {"says": side.words}
    if side.site is not None:
        content["site"] = _site(side.site)
    return content | ({"module": side.module} if side.module else {})


def _site(site: Site) -> Object:
    found = {name: value for name, value in asdict(site).items() if name != "origin" and value not in (None, "")}
    return found


def _edit(edit: Edit) -> Object:
    return {
        "site": _site(edit.site),
        "a": {"file": edit.file, "line": edit.first, "lines": list(edit.texts)},
        "b": {"file": edit.other_file, "line": edit.other_first, "lines": list(edit.other_texts)},
    }
