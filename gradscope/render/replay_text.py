"""A replay as text: a head, then a few lines for each step. Without rich, which is too slow for long listings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gradscope.engine.replay import Sent
from gradscope.engine.waste import Waste
from gradscope.model.graph import Node
from gradscope.model.hook import Firing
from gradscope.model.printable import printable
from gradscope.model.statistics import GradientStatistics, statistics_words
from gradscope.render.styles import STYLES, styled
from gradscope.view.line import LinePart, node_line
from gradscope.view.replay import Replay, ReplayStep
from gradscope.view.role import Role
from gradscope.view.scene import Scene
from gradscope.view.title import subtitles, title
from gradscope.view.words import TIMES, amount, first_line, leaf_words, place, seconds, short_name

MOST = 8  # of differences, moves, queued nodes and operators that are named
_INDENT, _WHAT = "      ", 7  # cells of what a line is about


def listing(replay: Replay, steps: Iterable[ReplayStep], color: bool, width: int | None = None) -> str:
    """The head and the steps, whose lines keep to a width."""
    lines = [*head(replay, color, width), ""]
    for step in steps:
        lines += step_lines(replay, step, color, width)
    return "\n".join(lines) + "\n"


def head(replay: Replay, color: bool, width: int | None = None) -> list[str]:
    """What is true of the whole."""
    scene = Scene(replay.graph, replay.run, replay.recording, width=0, color=color)
    said = [title(scene), *subtitles(scene), *_asked(replay), *_order(replay), *_moves(replay)]
    if replay.sums:
        said.append(f"gradients of several uses are added at {amount(len(replay.sums), 'input')}")
    if replay.waste is not None:
        said += _waste(replay, replay.waste)
    roles = [Role.MODULE, *[Role.PLAIN] * (len(said) - 1)]
    rows = ((role, row) for role, line in zip(roles, said, strict=True) for row in _wrapped(printable(line), width))
    return [_styled(row, role, color) for role, row in rows]


def step_lines(replay: Replay, step: ReplayStep, color: bool, width: int | None = None) -> list[str]:
    """A step: the node, what came, hooks, operators, what goes where, the queue."""
    moment, details, graph = step.moment, step.details, replay.graph
    shown = node_line(0, step.node, step.node.id in graph.roots, replay.run.cwd)
    place_of = f"#{moment.position}" if moment.position is not None else "not run" if moment.stopped else "captured"
    parts = [LinePart(place_of, Role.PLACE), *shown.parts[1:], LinePart(f"[{step.node.id}]", Role.PLACE)]
    texts = zip(_fitting([printable(part.text) for part in parts], width), parts, strict=True)
    lines = ["  ".join(_styled(text, part.role, color) for text, part in texts)]
    rest = [("in", f"{_index(one)}{statistics(one)}") for one in details.received]
    rest += [("hook", _hook(replay, firing)) for firing in details.firings]
    if details.operators:
        rest.append(("ran", operators(details.operators)))
    rest += [("inside", f"backward {number} started and ended") for number in details.nested]
    if details.seconds is not None:
        rest.append(("took", seconds(details.seconds)))
    passed = {one.index: one for one in details.passed}
    rest += [(f"out {sent.edge.output}", _sent(replay, sent, passed.get(sent.edge.output))) for sent in moment.sent]
    if moment.stopped:
        rest.append(("raised", first_line(graph.backward.exception or "")))
    rest.append(("queue", queue(replay, step)))
    room = width and width - len(_INDENT) - _WHAT
    rows = ((_styled(f"{what:<{_WHAT}}", Role.PLACE, color), *_fitting([printable(text)], room)) for what, text in rest)
    return lines + [f"{_INDENT}{what}{text}" for what, text in rows]


def queue(replay: Replay, step: ReplayStep) -> str:
    """What waits after a step, the next one first."""
    moment = step.moment
    names = [_name(replay.graph.nodes[node]) for node in moment.queue[:MOST]]
    more = moment.waiting - len(names)
    words = ", ".join(names) + (f" and {more} more" if more else "")
    tied = "; this node was tied with one that waited" if moment.tied else ""
    return (words or "empty") + tied


def statistics(one: GradientStatistics) -> str:
    """A gradient's statistics."""
    return statistics_words(one.norm, one.max, one.zero_share, "zero", one.nan, one.inf)


def operators(names: Iterable[str]) -> str:
    """Operators in order of appearance, each once."""
    counts = Counter(names)
    words = [name if count == 1 else f"{name} {TIMES}{count}" for name, count in counts.items()]
    more = [f"{len(words) - MOST} more kinds"] if len(words) > MOST else []
    return ", ".join(words[:MOST] + more)


def _asked(replay: Replay) -> list[str]:
    """What was changed, if anything."""
    nodes = replay.graph.nodes
    lines = []
    if replay.inputs is not None:
        lines.append(f"as if inputs= were {', '.join(_name(nodes[node]) for node in replay.inputs)}")
    lines += [f"as if {_name(nodes[node])} had sequence number {number}" for node, number in replay.priorities]
    return lines


def _order(replay: Replay) -> list[str]:
    graph, exact = replay.graph, replay.prediction.exact
    if not replay.measured:
        told = exact or graph.backward.exception is not None  # else the line about the exception says it
        return [] if told else ["this order is one of several that are possible: several devices or a tie decide"]
    if not replay.differences:
        return ["the nodes ran in the predicted order" if exact else "the nodes ran in one of the possible orders"]
    lines = [
        f"  {_name(graph.nodes[one.node])} {one.what}: {_place(one.recorded)}, predicted {_place(one.predicted)}"
        for one in replay.differences[:MOST]
    ]
    more = [f"  and {len(replay.differences) - MOST} more"] if len(replay.differences) > MOST else []
    return [f"{amount(len(replay.differences), 'difference')} from the predicted order:", *lines, *more]


def _moves(replay: Replay) -> list[str]:
    if not replay.priorities:
        return []
    lines = [f"  #{one.before} to #{one.after}  {_name(replay.graph.nodes[one.node])}" for one in replay.moves[:MOST]]
    more = [f"  and {len(replay.moves) - MOST} more"] if len(replay.moves) > MOST else []
    return [f"{amount(len(replay.moves), 'node')} would run at another place", *lines, *more]


def _waste(replay: Replay, found: Waste) -> list[str]:
    nodes, total = replay.graph.nodes, found.flops_run + found.flops_spared + found.flops_wasted
    time = "" if found.seconds_spared is None else f", about {seconds(found.seconds_spared)}"
    left_out, pruned = amount(len(found.left_out), "node"), amount(len(found.not_computed), "gradient")
    share = f"{_share(found.flops_spared, total)} of the work{time} (estimated)"
    lines = [f"inputs= leaves out {left_out}, and {pruned} of nodes that run: {share}"]
    if found.wasted:
        kinds = Counter(short_name(nodes[edge.source]) for edge in found.wasted)
        names = ", ".join(name if count == 1 else f"{name} {TIMES}{count}" for name, count in kinds.items())
        time = "" if found.seconds_wasted is None else f", about {seconds(found.seconds_wasted)}"
        share = f"{_share(found.flops_wasted, total)} of the work{time} (estimated)"
        lines.append(f"{amount(len(found.wasted), 'gradient')} computed for nothing: {share}; {names}")
    if found.unknown:
        what = amount(len(found.unknown), "gradient")
        lines.append(f"{what} of custom Functions not asked for: whether computed, a recording of --detail full tells")
    return lines


def _share(part: int, total: int) -> str:
    return f"{part / total:.0%}" if total else "0%"


def _sent(replay: Replay, sent: Sent, passed: GradientStatistics | None) -> str:
    name = _name(replay.graph.nodes[sent.edge.target])
    if not sent.asked:
        return f"not asked for ({name})" + ("" if passed is None else ", but computed")
    words = f"→ {name}" + (f", input {sent.edge.input_nr}" if sent.edge.input_nr else "")
    words += f", added to {amount(sent.before, 'gradient')} there" if sent.before else ""
    words += ", ready" if sent.ready else ""
    return words + ("" if passed is None else f"; {statistics(passed)}")


def _hook(replay: Replay, firing: Firing) -> str:
    hook = firing.hook
    where = next((f" ({place(site, replay.run.cwd)})" for site in hook.stack if site.origin.value == "user"), "")
    return f"{hook.kind} {hook.name}{where}: {firing.words}"


def _index(one: GradientStatistics) -> str:
    return f"{one.index}: " if one.index else ""


def _name(node: Node) -> str:
    leaf = "" if node.leaf is None else f" {leaf_words(node.leaf)}"
    return f"{short_name(node)}{leaf} [{node.id}]"


def _place(position: int | None) -> str:
    return "not at all" if position is None else f"#{position}"


def _wrapped(text: str, room: int | None) -> list[str]:
    if room is None:
        return [text]
    from gradscope.render.wrap import wrapped  # loaded where a terminal has a width

    return wrapped(text, room)


def _fitting(texts: list[str], room: int | None) -> list[str]:
    """The texts of a line, elided where there is a room to keep to."""
    if room is None:
        return texts
    from gradscope.render.elide import fitting  # loaded where a terminal has a width

    return fitting(texts, room)


def _styled(text: str, role: Role, color: bool) -> str:
    return styled(text, STYLES.get(role, "")) if color else text
