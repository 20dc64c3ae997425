"""A loss of one optimizer that reads, after another's step, a result of the graph of before that step."""

from __future__ import annotations

import ast
from collections import defaultdict

from gradscope.explain.deductions.memory.shared_subgraph import below, lines, shared_subgraph
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import is_attribute_of, names_in
from gradscope.model.flow import GradientState
from gradscope.model.graph import Backward, Node
from gradscope.model.mutation import Stale
from gradscope.model.operation import Block, Operation
from gradscope.model.site import Site, Stack, user_frames

_CLEARED = (GradientState.NONE, GradientState.ZERO)


def read_after_step(case: Case, call: Backward, stale: Stale, wrote: tuple[Block, Operation]) -> Site | None:
    """The line of a failed call that reads what an earlier call had run, once a step had changed weights below it.

    Where a function is handed the old result by the one that steps, it is the line that hands it over.

    None where the call needs those weights: the optimizer that was cleared for it holds some of what lies behind them,
    as that of a generator does behind its judge. None too where all of the loss was computed before the step.
    """
    if call.number not in case.graph_sizes() or not _is_of_another(case, call, stale):
        return None
    piece = shared_subgraph(case, call, stale.node)
    reader = None if piece is None else piece.reader
    return _chosen_at(case, reader.stack, wrote[1].stack) if reader is not None and _ran_after(reader, wrote) else None


def _is_of_another(case: Case, call: Backward, stale: Stale) -> bool:
    """Whether all that lies behind the changed weights is held by one optimizer, and keeps the gradients of before its
    step, while others that the call leads to were cleared for it."""
    graph = case.graph(call.number)
    known = {one.node: one for one in case.leaf_gradients() if one.backward == call.number}
    behind = [known.get(one.id) for one in below(graph, stale.node) if one.leaf is not None]
    tensors = {one.tensor if one is not None else None for one in behind}
    held: dict[int, set[int]] = defaultdict(set)
    for look in case.optimizer_looks():
        held[look.optimizer].update(parameter.tensor for parameter in look.parameters)
    kept = all(one is not None and one.state is GradientState.VALUES for one in behind)
    cleared = any(one.state in _CLEARED for one in known.values() if one.tensor not in tensors)
    return bool(tensors) and kept and cleared and any(tensors <= own for own in held.values())


def _ran_after(reader: Node, wrote: tuple[Block, Operation]) -> bool:
    """Whether the lines of a node were run after an operator that wrote, and not before it in the same stretch."""
    block, operation = wrote
    here = [at for at, one in enumerate(block.operations) if lines(one.stack) == lines(reader.stack) and one.grad]
    write = next((at for at, one in enumerate(block.operations) if one is operation), len(block.operations))
    return bool(here) and here[0] > write


def _chosen_at(case: Case, reading: Stack, stepping: Stack) -> Site | None:
    """From the line that reads out of the functions that were given what it reads, up to where the step is run."""
    frames, known = user_frames(reading), syntax(case)
    around = {(site.file, site.function) for site in user_frames(stepping)}
    for site in frames:
        function, statement = known.function(site), known.parsed(site.file).whole_statements.get(site.line)
        if (site.file, site.function) in around or not isinstance(function, ast.FunctionDef):
            return site
        given = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)} - {"self"}
        if not given & names_in(statement) or _reads_own(statement):
            return site
    return frames[0] if frames else None


def _reads_own(statement: ast.AST | None) -> bool:
    """Whether a statement reads an attribute of self that it does not call: no argument."""
    nodes = list(ast.walk(statement)) if statement is not None else []
    called = {id(one.func) for one in nodes if isinstance(one, ast.Call)}
    return any(is_attribute_of(one, "self") and id(one) not in called for one in nodes)
