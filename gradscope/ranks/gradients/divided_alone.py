"""A mean loss of a rank's own that is divided by the number of ranks, though the wrapper averages its gradients."""

from __future__ import annotations

import ast
from copy import copy

from gradscope.functions.source import called_name
from gradscope.model.graph import Graph
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.mean_losses import have_own_losses, is_known_in_source, leads_to_a_mean, scales_gradients
from gradscope.ranks.gradients.reduced import DIVIDES, averages, divisors, is_hooked
from gradscope.ranks.source.deciding import names_their_number, origin
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.store.reader import Recording

_DIVIDES = "DivBackward"
_LOOKS = 2  # backward calls, at least
_CONVERTS = frozenset(("float", "int"))


def divided_alone(ranks: Ranks, replicas: Replicas, recording: Recording) -> Site | None:
    """The line that divides the losses; None where anything else in the program takes the division back."""
    told = ranks.averaging[replicas.members[0]]
    of_all = len(replicas.members) == len(ranks.ranks) and have_own_losses(ranks, replicas)
    if not of_all or told.by_hand or is_hooked(recording) or is_known_in_source(recording):
        return None
    calls = [call for call in recording.backwards() if call.number in recording.graph_sizes()]
    stepped = {look.backward for look in recording.optimizer_looks()}
    first = [call.number for call in calls[:_LOOKS]]
    if len(first) < _LOOKS or not stepped.issuperset(first):  # else parts of a batch may be added up
        return None
    if any(call.nested_in is not None or call.create_graph for call in calls):
        return None
    stacks = [_divided(recording.graph(number), told.leaves) for number in first if averages(recording, number)]
    if len(stacks) < _LOOKS or scales_gradients(recording, calls) or not _by_numbers(recording, first):
        return None
    found = {next(iter(user_frames(stack)), None) for stack in stacks if stack is not None and _by_it(recording, stack)}
    return found.pop() if len(found) == 1 and None not in stacks else None


def _divided(graph: Graph, leaves: frozenset[str]) -> Stack | None:
    """Where a loss was divided, of which additions alone lead to a mean."""
    root = graph.nodes[graph.roots[0]] if len(graph.roots) == 1 else None
    if root is None or not root.name.startswith(_DIVIDES):
        return None
    is_wrapped = {node.leaf for node in graph.nodes if node.leaf} <= leaves
    inside = [edge.target for edge in graph.edges if edge.source == root.id]
    return root.stack if is_wrapped and leads_to_a_mean(graph, inside) else None


def _by_numbers(recording: Recording, backwards: list[int]) -> bool:
    """Whether what backward calls start from was divided by a number of Python's: a tensor may be a count of all."""
    starts = {one.tensor: one.backward for one in recording.flow_ends() if not one.target}
    divided = (
        starts[made]
        for one in recording.flow()
        for made in one.makes
        if made in starts and base_name(one.operation.name) in DIVIDES and len(one.reads) == 1
    )
    return set(divided).issuperset(backwards)


def _by_it(recording: Recording, stack: Stack) -> bool:
    """Whether a line divides by the number of ranks itself, and nothing that is computed of it."""
    frames = frames_of(recording, stack)
    line = frames[0].site.line if frames else 0
    nodes = (node for node in ast.walk(frames[0].function) if getattr(node, "lineno", 0) == line) if frames else ()
    by = [value for node in nodes for value in divisors(node)]
    return len(by) == 1 and origin(recording, frames, by[0], names_their_number, _alone) is not None


def _alone(frames: list[Frame], value: ast.expr) -> ast.expr:
    """A name, or a call without what it is given; nothing of what is made of several."""
    while isinstance(value, ast.Call) and called_name(value) in _CONVERTS and len(value.args) == 1:
        value = value.args[0]
    if isinstance(value, ast.Call):
        told = copy(value)
        told.args, told.keywords = [], []
        return told
    is_name = isinstance(value, ast.Name) or (isinstance(value, ast.Attribute) and isinstance(value.ctx, ast.Load))
    return value if is_name else ast.copy_location(ast.Constant(None), value)
