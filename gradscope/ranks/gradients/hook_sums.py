"""Gradients of mean losses that a communication hook of DistributedDataParallel sums, and divides nowhere: the wrapper
leaves that to its hook."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from gradscope.functions.source import called_name
from gradscope.model.graph import Backward
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import sum_on
from gradscope.ranks.gradients.mean_losses import (
    PROPORTIONAL,
    have_own_losses,
    is_known_in_source,
    leads_to_a_mean,
    scales_gradients,
)
from gradscope.ranks.gradients.reduced import averages
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import Function, nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_HOOK, _PLACE = "register_comm_hook", 1  # of the hook among what it is given
_OF_TORCH = "ddp_comm_hooks"  # which divide
_SUMS = "c10d.allreduce_."
_LOOKS = 2  # backward calls, at least
_SCALES = ("div", "mul", "true_divide", "divide", "multiply", "_foreach_div", "_foreach_mul", "mean", "lerp", "addcdiv")
_SIZES = frozenset(("numel", "element_size", "nbytes", "size", "len"))  # of messages
_GOES_ON = frozenset(("then", "add_done_callback"))
_NUMBER = "get_world_size"


def summed_by_a_hook(ranks: Ranks, replicas: Replicas, recording: Recording) -> Site | None:
    """The line in a hook that sums; None where anything scales what goes through it, a loss or a rate."""
    told = ranks.averaging[replicas.members[0]]
    of_all = replicas.group is not None and len(replicas.members) == len(replicas.group[1]) == len(ranks.ranks)
    if not of_all or told.by_hand or not have_own_losses(ranks, replicas):
        return None
    calls = _first_of_steps(recording)
    sites = {_sum_in(recording, call, told.leaves) for call in calls[:_LOOKS]}
    site = sites.pop() if len(sites) == 1 else None
    if site is None or scales_gradients(recording, calls) or is_known_in_source(recording):
        return None
    return None if _scales_by_a_name(recording) else site


def summed_by_one_way(ranks: Ranks, replicas: Replicas, recording: Recording) -> Site | None:
    """The line in a hook that sums in some backward calls, in which nothing divides, where the hook itself divides in
    all others: it has two ways, or a condition, and forgot it in one."""
    told = ranks.averaging[replicas.members[0]]
    of_all = replicas.group is not None and len(replicas.members) == len(replicas.group[1]) == len(ranks.ranks)
    if not of_all or told.by_hand or not have_own_losses(ranks, replicas) or is_known_in_source(recording):
        return None
    ways = _ways(recording)
    divided = [one for one in ways if one.scales]
    plain = [one for one in ways if not one.scales]
    sites = {one.site for one in plain}
    if min(len(divided), len(plain)) < _LOOKS or len(sites) != 1:
        return None
    calls = [one.call for one in plain]
    means = (leads_to_a_mean(graph, graph.roots[:1]) for graph in (recording.graph(one.number) for one in calls))
    if not all(means) or scales_gradients(recording, calls) or not _is_proportional(recording):
        return None
    lines = {str(site) for one in divided for site in one.scales}
    return None if _may_scale_unseen(recording, plain[0].frames, lines) else plain[0].site


@dataclass(frozen=True, slots=True)
class _Way:
    """What a hook did in a backward: the functions around the line that sums, and the lines that scaled something."""

    call: Backward
    frames: list[Frame]
    scales: frozenset[Site]

    @property
    def site(self) -> Site:
        """The line that sums."""
        return self.frames[0].site


def _ways(recording: Recording) -> list[_Way]:
    """Of all backward calls whose gradients one line of a hook sums; none where anything else meets others."""
    found: list[_Way] = []
    for call in recording.backwards():
        inside = list(_inside(recording, call)) if call.number in recording.graph_sizes() else []
        met = [one for one in inside if is_collective(one.name)]
        if not met:
            continue
        frames = _of_hook(recording, met[0], call)
        known = all(one.name.startswith(_SUMS) and _is_own(one) and one.site == met[0].site for one in met)
        if not known or not frames or sum_on(frames[0].function, frames[0].site.line) is None:
            return []
        scales = (one.site for one in inside if base_name(one.name).rstrip("_") in _SCALES and one.site != call.site)
        found.append(_Way(call, frames, frozenset(site for site in scales if site is not None)))
    return found


def _is_proportional(recording: Recording) -> bool:
    looks = recording.optimizer_looks()
    return bool(looks) and all(look.name == PROPORTIONAL for look in looks)


def _may_scale_unseen(recording: Recording, frames: list[Frame], lines: set[str]) -> bool:
    """Whether a hook may scale what no operator tells, as in what it has called when a sum is done: where it scales on
    a line that never was seen to, or by a function that stands in several places."""
    known = {one.name for one in _functions(recording)}
    file = frames[0].site.file
    nodes = list(_code(recording, frames))
    if any(_goes_on_elsewhere(node, known) for node in nodes):
        return True
    scaling = {getattr(node, "lineno", 0) for node in nodes if _scales(node)}
    if any(f"{file}:{line}" not in lines for line in scaling):
        return True
    same_file = (one for one in nodes_of(frames[0].tree) if isinstance(one, Function))  # lines are of that
    helpers = (one for one in same_file if one is not frames[0].function)
    holds = {one.name for one in helpers if scaling & {getattr(node, "lineno", 0) for node in ast.walk(one)}}
    trees = (tree_of(recording, Site(name, 1)) for name in recording.sources())
    named = [_name(node) for tree in trees for node in nodes_of(tree) if isinstance(node, ast.Name | ast.Attribute)]
    return any(named.count(one) > 1 for one in holds)


def _first_of_steps(recording: Recording) -> list[Backward]:
    """The backward calls, where the first ones have a step each of an optimizer that goes as far as gradients are
    large; else none."""
    looks = recording.optimizer_looks()
    calls = [call for call in recording.backwards() if call.number in recording.graph_sizes()]
    plain = all(call.nested_in is None and not call.create_graph for call in calls)
    stepped = {look.backward for look in looks}
    if len(calls) < _LOOKS or not plain or any(look.name != PROPORTIONAL for look in looks):
        return []
    return calls if stepped.issuperset(call.number for call in calls[:_LOOKS]) else []


def _sum_in(recording: Recording, call: Backward, leaves: frozenset[str]) -> Site | None:
    """The only line that meets others in a backward of a mean loss: in a hook that scales nothing."""
    graph = recording.graph(call.number)
    is_mean = {node.leaf for node in graph.nodes if node.leaf} <= leaves and leads_to_a_mean(graph, graph.roots[:1])
    met = [one for one in _inside(recording, call) if is_collective(one.name)]
    sites = {one.site for one in met}
    if not is_mean or len(sites) != 1 or not averages(recording, call.number):
        return None
    if not all(one.name.startswith(_SUMS) and _is_own(one) for one in met):
        return None
    frames = _of_hook(recording, met[0], call)
    if not frames or sum_on(frames[0].function, frames[0].site.line) is None:
        return None
    known = {one.name for one in _functions(recording)}
    unlike = any(_scales(node) or _goes_on_elsewhere(node, known) for node in _code(recording, frames))
    return None if unlike else frames[0].site


def _inside(recording: Recording, call: Backward) -> Iterator[Operation]:
    of_call = (block.operations for block in recording.blocks() if block.backward == call.number)
    return chain.from_iterable(of_call)


def _is_own(one: Operation) -> bool:
    """Whether the program itself sums, and no hook of torch's that it calls."""
    return not any(_OF_TORCH in site.file for site in one.stack)


def _of_hook(recording: Recording, one: Operation, call: Backward) -> list[Frame]:
    """The functions in which a hook runs that may be one that is registered, the innermost first."""
    frames = frames_of(recording, one.stack)
    inside = [str(frame.site) for frame in frames]
    end = inside.index(str(call.site)) if str(call.site) in inside else 0
    name = getattr(frames[end - 1].function, "name", None) if end else None
    hooks = {_hook(each) for _, _, each in calls_of(recording, _HOOK)}
    given = hooks - {one.name for one in _functions(recording)}  # by an argument, say
    return frames[:end] if name in hooks or given - {None} else []


def _hook(call: ast.Call) -> str | None:
    by_name = (one.value for one in call.keywords if one.arg == "hook")
    hook = next(by_name, call.args[_PLACE] if len(call.args) > _PLACE else None)
    return None if hook is None else _name(hook)


def _name(value: ast.expr) -> str | None:
    return value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else None


def _code(recording: Recording, frames: list[Frame]) -> Iterator[ast.AST]:
    """What stands in some functions, in hooks, and in all of the program's that have a name which stands there."""
    functions = _functions(recording)
    hooks = {_hook(each) for _, _, each in calls_of(recording, _HOOK)}
    waiting: list[ast.AST] = [frame.function for frame in frames]
    waiting += [one for one in functions if one.name in hooks]
    for function in waiting:  # grows while it is walked
        nodes = list(ast.walk(function))
        yield from nodes
        names = _last_names(function)
        waiting += [one for one in functions if one.name in names and one not in waiting]


def _functions(recording: Recording) -> list[Function]:
    nodes = [one for file in sorted(recording.sources()) for one in nodes_of(tree_of(recording, Site(file, 1)))]
    return [one for one in nodes if isinstance(one, Function)]


def _scales(node: ast.AST) -> bool:
    """Whether a part of a line divides or multiplies anything but the sizes of messages."""
    if isinstance(node, ast.Call):
        return (called_name(node) or "").rstrip("_") in _SCALES
    scales = isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult)
    return scales and not _is_of_sizes(node)


def _goes_on_elsewhere(node: ast.AST, known: set[str]) -> bool:
    """Whether something is to be called when a sum is done that is no function of the program's: a thread of its own
    calls it, whose operators nobody knows."""
    if not isinstance(node, ast.Call) or called_name(node) not in _GOES_ON:
        return False
    return not all(isinstance(one, ast.Lambda) or _name(one) in known for one in node.args)


def _is_of_sizes(node: ast.AST) -> bool:
    multiplies = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    return multiplies and any(isinstance(one, ast.Call) and called_name(one) in _SIZES for one in ast.walk(node))


def _scales_by_a_name(recording: Recording) -> bool:
    """Whether the source scales what no operator computes by a name that was given the number of ranks."""
    computed = {(one.site.file, one.site.line) for block in recording.blocks() for one in block.operations if one.site}
    nodes = [(file, node) for file in recording.sources() for node in nodes_of(tree_of(recording, Site(file, 1)))]
    names = {name for _, node in nodes for name in _names_of_their_number(node)}
    return any(
        _scales(node) and not names.isdisjoint(_last_names(node))
        for file, node in nodes
        if (file, getattr(node, "lineno", 0)) not in computed
    )


def _names_of_their_number(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Assign) or _NUMBER not in _last_names(node.value):
        return set()
    return {name for target in node.targets for name in _last_names(target)} - {"self"}


def _last_names(value: ast.AST) -> set[str]:
    found = (getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(value))
    return {one for one in found if one is not None}
