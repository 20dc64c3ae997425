"""JSON for programs: the whole graph, unreduced. The keys are a contract: some may be added, none taken away.

One node, edge and firing a line, so that `grep` and `diff` work on it too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gradscope.graphs.reduce import reduce
from gradscope.model.graph import Backward, Node, Root
from gradscope.model.hook import Firing, Hook
from gradscope.model.site import Site, Stack
from gradscope.model.tensor import SavedTensor, TensorType
from gradscope.version import __version__
from gradscope.view.draw import drawn
from gradscope.view.scene import Scene

FORMAT = 1
Object = dict[str, Any]


def render(scene: Scene) -> str:
    """The graph as one JSON object."""
    graph = scene.graph
    head = {
        "format": FORMAT,
        "gradscope": __version__,
        "torch": scene.run.torch,
        "recording": scene.recording,
        "backward": _backward(graph.backward),
    }
    edges = ({"from": e.source, "to": e.target, "input_nr": e.input_nr, "output": e.output} for e in graph.edges)
    lists = {
        "nodes": (_node(node) for node in graph.nodes),
        "edges": edges,
        "firings": (_firing(firing) for firing in graph.firings),
    }
    members = [f'"{name}": {_dump(value)}' for name, value in head.items()]
    members += [f'"{name}": {_lines(objects)}' for name, objects in lists.items()]
    members.append(f'"reduced": {_dump(_reduced(scene))}')
    return "{" + ",\n ".join(members) + "}\n"


def _reduced(scene: Scene) -> Object:
    """The boxes, frames and arrows of the pictures, with the words that stand in them, and the nodes of each."""
    reduced = reduce(scene.graph, scene.reduction)
    drawing = drawn(scene, reduced)
    boxes = [
        {
            "kind": piece.kind.name.lower(),
            "title": box.title,
            "notes": [*box.notes, *(row.text for row in box.rows)],
            "frame": box.cluster,
            "nodes": [node.id for node in (*piece.nodes, *piece.views, *piece.leaves)],
        }
        for piece, box in zip(reduced.pieces, drawing.boxes, strict=True)
    ]
    return {
        "boxes": boxes,
        "frames": [{"title": cluster.title, "around": cluster.around} for cluster in drawing.clusters],
        "arrows": [{"from": one.tail, "to": one.head, "count": one.count} for one in drawing.arrows],
        "captions": list(drawing.captions),
    }


def site(where: Site | None) -> Object | None:
    """A line of code as every command's JSON writes it."""
    if where is None:
        return None
    return {"file": where.file, "line": where.line, "function": where.function, "source": where.source}


def _lines(objects: Iterable[Object]) -> str:
    lines = ",\n  ".join(map(_dump, objects))
    return f"[\n  {lines}]" if lines else "[]"


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _node(node: Node) -> Object:
    call, parent, function = node.module, node.parent, node.function
    return {
        "id": node.id,
        "name": node.name,
        "seq_nr": node.seq_nr,
        "site": site(node.site),
        "library": site(node.library),
        "stack": _stack(node.stack),
        "op": node.op,
        "module": call.label if call else None,
        "module_class": call.module_class if call else None,
        "module_calls": [around.label for around in call.chain] if call else [],
        "levels": [str(level) for level in node.levels],
        "thread": node.thread,
        "parent": {"node": parent.node, "name": parent.name, "site": site(parent.site)} if parent else None,
        "device": node.device,
        "leaf": node.leaf,
        "function": {
            "name": function.name,
            "class_site": site(function.class_site),
            "backward_site": site(function.backward_site),
        }
        if function
        else None,
        "saved": [_saved(tensor) for tensor in node.saved],
        "hooks": [_hook(hook) for hook in node.hooks],
        "order": node.order,
        "inputs_meta": [_type(meta) if meta else None for meta in node.inputs_meta],
    }


def _stack(stack: Stack) -> list[Object]:
    return [{**(site(frame) or {}), "origin": frame.origin.value} for frame in stack]


def _type(kind: TensorType) -> Object:
    return {"shape": list(kind.shape), "dtype": kind.dtype, "device": kind.device}


def _saved(tensor: SavedTensor) -> Object:
    extras = {"bytes": tensor.bytes, "storage": tensor.storage, "leaf": tensor.leaf, "kind": tensor.kind}
    return {"name": tensor.name, **_type(tensor.type), **extras}


def _hook(hook: Hook) -> Object:
    where = site(next((frame for frame in hook.stack if frame.origin.value == "user"), None))
    return {"number": hook.number, "kind": hook.kind, "name": hook.name, "on": hook.on, "site": where}


def _firing(firing: Firing) -> Object:
    return {"hook": firing.hook.number, "kind": firing.hook.kind, "node": firing.node, "changed": firing.changed,
            "effect": firing.effect.name.lower()}  # fmt: skip


def _roots(roots: tuple[Root, ...] | None) -> list[Object] | None:
    return None if roots is None else [{"node": root.node, "input_nr": root.input_nr} for root in roots]


def _backward(backward: Backward) -> Object:
    return {
        "number": backward.number,
        "kind": backward.kind,
        "roots": _roots(backward.roots),
        "inputs": _roots(backward.inputs),
        "keep_graph": backward.keep_graph,
        "create_graph": backward.create_graph,
        "nested_in": backward.nested_in,
        "step": backward.step,
        "thread": backward.thread,
        "site": site(backward.site),
        "stack": _stack(backward.stack),
        "started": backward.started,
        "duration": backward.duration,
        "exception": backward.exception,
        "stopped": backward.stopped,
        "order_source": backward.order_source.value,
    }
