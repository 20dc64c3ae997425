"""The formats of `gradscope compiled`: tables, JSON, and pictures of one captured graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from gradscope.model.compiled import Captured, CompiledRun, CompiledStep
from gradscope.model.graph import Node
from gradscope.model.printable import printable
from gradscope.render import tables
from gradscope.render.drawn import DRAWN, Drawn
from gradscope.render.json import site
from gradscope.version import __version__
from gradscope.view.compiled import CompiledScene, line_of, matched, why
from gradscope.view.compiled import tables as tables_of
from gradscope.view.compiled_drawing import draw

FORMAT = 1
Object = dict[str, Any]


def text(scene: CompiledScene) -> str:
    """For people: tables, each under its name."""
    parts = []
    for table in tables_of(scene):
        page = tables.Page(scene.origin, (table,), scene.folder, scene.width, scene.color)
        parts.append(f"{printable(table.name)}\n\n{tables.text(page)}")
    return "\n".join(parts)


def to_json(scene: CompiledScene) -> str:
    """For programs: every capture and every run, one object."""
    page = {
        "format": FORMAT,
        "gradscope": __version__,
        "torch": scene.torch,
        "recording": scene.origin,
        "captures": [_captured(scene, one) for one in scene.captured],
        "runs": [_run(run) for run in scene.runs],
    }
    return json.dumps(page, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


Render = Callable[[CompiledScene], str | bytes]


def _drawing(form: Drawn) -> Render:
    """A format that draws."""
    return lambda scene: form.write(draw(scene), scene.style)


COMPILED_FORMATS: dict[str, Render] = {
    "text": text,
    "json": to_json,
    **{name: _drawing(form) for name, form in DRAWN.items()},
}


def choose(name: str | None, output: str | None) -> Render:
    """The format that was named, else the one of the output's suffix, else text."""
    suffix = PurePath(output).suffix.lower() if output else ""
    drawn = next((form.name for form in DRAWN.values() if form.suffix == suffix), None)
    return COMPILED_FORMATS[name or drawn or ("json" if suffix == ".json" else "text")]


def _captured(scene: CompiledScene, one: Captured) -> Object:
    live = matched(scene, one)
    return {
        "number": one.number,
        "backward": one.backward,
        "why": why(scene, one),
        "reason": one.reason,
        "line": line_of(scene, one),
        "called_at": site(one.site),
        "sizes": [{"value": size.value, "used": size.used} for size in one.sizes],
        "steps": [_step(step, live.get(step.node_call or 0)) for step in one.steps],
    }


def _step(step: CompiledStep, node: Node | None) -> Object:
    return {
        "position": step.position,
        "kind": step.kind.value,
        "op": step.op,
        "node": step.node,
        "hook": step.hook,
        "label": step.label,
        "defined_at": site(step.stack[0] if step.stack else None),
        "inputs": list(step.inputs),
        "node_id": None if node is None else node.id,
        "eager_order": None if node is None else node.order,
        "site": None if node is None else site(node.site),
    }


def _run(run: CompiledRun) -> Object:
    where = site(run.site)
    return {"capture": run.captured, "hit": run.hit, "backward": run.backward, "called_at": where, "sizes": run.sizes}
