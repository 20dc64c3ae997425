"""What came of an execution, as text and as JSON."""

from __future__ import annotations

import json

from gradscope.model.execution import Execution, NodeOutcome, NodeStatus
from gradscope.model.printable import printable
from gradscope.render.json import FORMAT, site
from gradscope.version import __version__
from gradscope.view.replay import Replay
from gradscope.view.title import title_of
from gradscope.view.words import amount, place, short_name

MOST = 10  # nodes that are named


def to_text(replay: Replay, found: Execution) -> str:
    """A sentence for the whole, one for the first node that differs, and one for each that was not repeated."""
    order = "the recorded order" if found.recorded_order else "another order than the recorded one"
    lines = [
        title_of(replay.graph, replay.run),
        f"run again in {order}, with torch {found.torch} on {amount(found.threads, 'thread')}",
        f"{amount(found.count(NodeStatus.EQUAL), 'node')} equal to the bit",
    ]
    if found.first is not None:
        lines += _first(replay, found, found.first)
    missing = [one for one in found.outcomes if one.status is NodeStatus.NOT_REPEATED]
    if missing:
        lines.append(f"{amount(len(missing), 'node')} not repeated:")
        lines += [f"  {_name(replay, one)}: {_what(one)}" for one in missing[:MOST]]
        lines += [f"  and {len(missing) - MOST} more"] if len(missing) > MOST else []
    return "\n".join(map(printable, lines)) + "\n"


def to_json(replay: Replay, found: Execution) -> str:
    """One object, with an outcome for each node."""
    head = {
        "format": FORMAT,
        "gradscope": __version__,
        "recording": replay.recording,
        "backward": found.backward,
        "recorded_with": replay.run.torch,
        "torch": found.torch,
        "threads": found.threads,
        "recorded_order": found.recorded_order,
        "first": None if found.first is None else found.first.node,
        "nodes": [
            {
                "node": one.node,
                "name": replay.graph.nodes[one.node].name,
                "site": site(replay.graph.nodes[one.node].site),
                "status": one.status.value,
                "operator": one.operator,
                "detail": one.detail,
                "again": one.again,
            }
            for one in found.outcomes
        ],
    }
    return json.dumps(head, indent=1, allow_nan=False) + "\n"


def _first(replay: Replay, found: Execution, first: NodeOutcome) -> list[str]:
    others = found.count(NodeStatus.DIFFERS) - 1
    lines = [f"the first that differs: {_name(replay, first)}: {_what(first)}"]
    if first.operator is not None and first.again is False:
        lines.append("  it gave something else again when run once more: this operator is not deterministic")
    elif first.operator is not None:
        same = "the same bits each time here, so it is not chance"
        version = found.torch != replay.run.torch
        cause = (
            f"torch {replay.run.torch} recorded it" if version else "another processor, or memory that changed unseen"
        )
        lines.append(f"  {same}: {cause}")
    if others:
        lines.append(f"  {amount(others, 'node')} after it differ too, which may follow from it")
    return lines


def _what(one: NodeOutcome) -> str:
    return f"{one.operator}: {one.detail}" if one.operator else one.detail


def _name(replay: Replay, one: NodeOutcome) -> str:
    node = replay.graph.nodes[one.node]
    where = f" at {place(node.site, replay.run.cwd)}" if node.site else ""
    leaf = f" {node.leaf}" if node.leaf else ""
    return f"{short_name(node)}{leaf} [{node.id}]{where}"
