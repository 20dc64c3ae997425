"""The formats of `gradscope joint`: tables, JSON, and pictures of the partition."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradscope.errors import UsageError
from gradscope.model.joint import EagerTensor, Fact, JointNode, Partition, PartitionStep, Region
from gradscope.model.printable import printable
from gradscope.model.tensor import TensorType
from gradscope.render import tables
from gradscope.render.drawn import DRAWN, Drawn
from gradscope.render.json import site
from gradscope.version import __version__
from gradscope.view.joint import JointScene, remark
from gradscope.view.joint import tables as tables_of
from gradscope.view.joint_drawing import draw

FORMAT = 1
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JointFormat:
    """A name for `--fmt`, the suffix that `-o` guesses it from, and what writes it."""

    name: str
    suffix: str
    render: Callable[[JointScene], str | bytes]


def text(scene: JointScene) -> str:
    """For people: tables, each under its name."""
    parts = []
    for table in tables_of(scene):
        page = tables.Page(scene.origin, (table,), scene.folder, scene.width, scene.color)
        head = f"{printable(table.name)}\n\n" if table.rows else ""  # an empty one says its name itself
        parts.append(head + tables.text(page))
    return "\n".join(parts)


def to_json(scene: JointScene) -> str:
    """For programs: all there is, one object."""
    page = {
        "format": FORMAT,
        "gradscope": __version__,
        "torch": scene.torch,
        "origin": scene.origin,
        "regions": [_region(region) for region in scene.regions],
        "graph_breaks": [_fact(one) for one in scene.breaks],
        "eager": None if scene.eager is None else [_eager(one) for one in scene.eager],
    }
    return json.dumps(page, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _drawing(form: Drawn) -> JointFormat:
    """A format that draws."""
    return JointFormat(form.name, form.suffix, lambda scene: form.write(draw(scene), scene.style))


JOINT_FORMATS = {
    each.name: each
    for each in (
        JointFormat("text", ".txt", text),
        JointFormat("json", ".json", to_json),
        *map(_drawing, DRAWN.values()),
    )
}


def choose(name: str | None, output: str | None) -> JointFormat:
    """The format that was named, else the one of the output's suffix, else text. Raises UsageError."""
    if name is not None:
        return JOINT_FORMATS[name]
    suffix = Path(output).suffix.lower() if output and output != "-" else ".txt"
    found = next((each for each in JOINT_FORMATS.values() if each.suffix == suffix), None)
    if found is None:
        raise UsageError(f"no format is known for {suffix} files", "name the format with --fmt")
    return found


def _region(region: Region) -> Object:
    return {
        "number": region.number,
        "name": region.name,
        "compile_id": region.compile_id,
        "site": site(region.stack[0] if region.stack else None),
        "nodes": [_node(region, node) for node in region.nodes],
        "partitions": [_partition(region, cut) for cut in region.partitions],
        "facts": [_fact(fact) for fact in region.facts],
    }


def _node(region: Region, node: JointNode) -> Object:
    return {
        "id": node.id,
        "name": node.name,
        "op": node.op,
        "phase": node.phase.value,
        "type": _type(node.type),
        "bytes": node.bytes,
        "storage": node.storage,
        "site": site(node.site),
        "seq_nr": node.seq_nr,
        "inputs": list(node.inputs),
        "module": node.module,
        "label": node.label,
        "addition_of": node.addition_of,
        "uses": list(node.uses),
        "remark": remark(region, node),
    }


def _partition(region: Region, cut: Partition) -> Object:
    saved = [{"node": one, "name": region.nodes[one].name, "input": region.is_held(one)} for one in cut.saved]
    return {
        "name": cut.name,
        "used": cut.used,
        "saved_bytes": region.saved_bytes(cut),
        "saved": saved,
        "recomputed": list(region.recomputed(cut)),
        "forward": [_step(step) for step in cut.forward],
        "backward": [_step(step) for step in cut.backward],
    }


def _step(step: PartitionStep) -> Object:
    return {"node": step.node, "inputs": list(step.inputs)}


def _fact(fact: Fact) -> Object:
    return {"kind": fact.kind, "text": fact.text, "site": site(fact.site)}


def _eager(tensor: EagerTensor) -> Object:
    named = {"type": _type(tensor.type), "bytes": tensor.bytes, "storage": tensor.storage, "input": tensor.held}
    return {**named, "site": site(tensor.site)}


def _type(kind: TensorType | None) -> Object | None:
    return None if kind is None else {"shape": list(kind.shape), "dtype": kind.dtype, "device": kind.device}
