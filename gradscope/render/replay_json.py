"""A replay as JSON for programs: the whole of it, one step a line. Keys may be added, none taken away."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from gradscope.engine.replay import Sent
from gradscope.engine.waste import Waste
from gradscope.model.graph import Edge
from gradscope.model.statistics import GradientStatistics
from gradscope.render.json import FORMAT, Object, site
from gradscope.version import __version__
from gradscope.view.replay import Replay, ReplayStep


def to_json(replay: Replay, steps: Iterable[ReplayStep]) -> str:
    """One object."""
    backward, prediction = replay.graph.backward, replay.prediction
    head = {
        "format": FORMAT,
        "gradscope": __version__,
        "torch": replay.run.torch,
        "recording": replay.recording,
        "backward": {"number": backward.number, "kind": backward.kind, "site": site(backward.site)},
        "order_source": "measured" if replay.measured else "predicted",
        "exact": prediction.exact,
        "inputs": None if replay.inputs is None else list(replay.inputs),
        "priorities": [{"node": node, "seq_nr": number} for node, number in replay.priorities],
        "moves": [asdict(move) for move in replay.moves],
        "differences": [asdict(one) for one in replay.differences],
        "sums": [
            {"node": one.node, "input_nr": one.input_nr, "sources": [edge.source for edge in one.sources]}
            for one in replay.sums
        ],
        "waste": None if replay.waste is None else waste(replay.waste),
    }
    members = [f'"{name}": {json.dumps(value, allow_nan=False)}' for name, value in head.items()]
    lines = ",\n  ".join(json.dumps(_step(step), allow_nan=False) for step in steps)
    members.append(f'"steps": [\n  {lines}]' if lines else '"steps": []')
    return "{" + ",\n ".join(members) + "}\n"


def waste(found: Waste) -> Object:
    """What inputs= spares and what is computed for nothing."""
    return {
        **asdict(found),
        "left_out": list(found.left_out),
        "not_computed": [_edge(edge) for edge in found.not_computed],
        "wasted": [_edge(edge) for edge in found.wasted],
        "unknown": [_edge(edge) for edge in found.unknown],
    }


def _edge(edge: Edge) -> Object:
    return {"from": edge.source, "output": edge.output, "to": edge.target, "input_nr": edge.input_nr}


def _step(step: ReplayStep) -> Object:
    moment, node, details = step.moment, step.node, step.details
    return {
        "position": moment.position,
        "node": node.id,
        "name": node.name,
        "leaf": node.leaf,
        "seq_nr": node.seq_nr,
        "device": node.device,
        "module": node.module.label if node.module else None,
        "site": site(node.site),
        "captured_only": moment.position is None and not moment.stopped,
        "stopped": moment.stopped,
        "tied": moment.tied,
        "received": [_statistics(one) for one in details.received],
        "passed": [_statistics(one) for one in details.passed],
        "hooks": [
            {
                "hook": one.hook.number,
                "kind": one.hook.kind,
                "name": one.hook.name,
                "changed": one.changed,
                "effect": one.effect.name.lower(),
            }
            for one in details.firings
        ],
        "operators": list(details.operators),
        "seconds": details.seconds,
        "nested": list(details.nested),
        "edges": [_sent(sent) for sent in moment.sent],
        "queue": list(moment.queue),
        "waiting": moment.waiting,
    }


def _sent(sent: Sent) -> Object:
    edge = sent.edge
    where = {"output": edge.output, "to": edge.target, "input_nr": edge.input_nr}
    return {**where, "asked": sent.asked, "before": sent.before, "ready": sent.ready}


def _statistics(one: GradientStatistics) -> Object:
    return {"index": one.index, "norm": _finite(one.norm), "max": _finite(one.max), "zero_share": one.zero_share,
            "nan": one.nan, "inf": one.inf}  # fmt: skip


def _finite(value: float) -> float | None:
    return value if value - value == 0 else None
