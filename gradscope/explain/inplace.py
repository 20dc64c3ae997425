"""In-place edits of what autograd had saved: GS701."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from gradscope.explain import code
from gradscope.explain.case import Case
from gradscope.explain.kind import Cause
from gradscope.explain.shared import shared
from gradscope.model.finding import Related
from gradscope.model.graph import Backward, Node
from gradscope.model.mutation import Stale
from gradscope.model.operation import Block, Operation
from gradscope.model.site import Origin, Site

REFUSED = "modified by an inplace operation"
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_OPTIMIZER = f"{os.sep}optim{os.sep}"


def inplace_on_saved(case: Case) -> Iterator[Cause]:
    """In-place edit of a saved tensor.

    What it flags: a tensor was edited in place after an operation had saved it for its backward, which then
        raised.
    Why: many derivatives need the values that the forward saw: exp needs its result, x * w needs both factors. Autograd
        keeps the tensors themselves, not copies. Every in-place operation raises the version that a tensor shares with
        its views; a node compares the version that it saved with the present one, and refuses to compute with values
        that are no longer those of the forward. The line that edits may be far away: in an optimizer's step between two
        backward calls, in a module with inplace=True, in a hook, through a view or an index.
    Wrong:
        h = torch.exp(x)      # exp saves its result
        h += 1                # the result is gone
        h.sum().backward()
    Right:
        h = torch.exp(x)
        h = h + 1             # a new tensor
        h.sum().backward()
    Do instead: make a new tensor (`h = h + 1`, `torch.where`, `torch.cat`), or edit a `.clone()`.
    How it is found: when the backward has raised, its graph is still there: each node is asked for the versions of what
        it saved. The operator that wrote the tensor's storage at the version that was saved is looked up among all
        operators that ran.
    """
    for call in case.failed:
        if REFUSED in (call.exception or ""):
            stale = refused(case, call)
            if stale is not None and not _is_carried_over(case, call, stale):
                yield _cause(case, call, stale)


def refused(case: Case, call: Backward) -> Stale | None:
    """The edited tensor that the exception speaks of: that of the node which runs first."""
    found = _VERSIONS.search(call.exception or "")
    stale = [one for one in case.stale if one.backward == call.number]
    spoken = [one for one in stale if found and (one.version, one.expected) == (int(found[1]), int(found[2]))]
    nodes = case.graph(call.number).nodes
    return max(spoken or stale, key=lambda one: _sequence(nodes[one.node]), default=None)


def _is_carried_over(case: Case, call: Backward, stale: Stale) -> bool:
    """Whether the node is one of an earlier round of the loop, kept alive until a step changed the weights: GS712."""
    found = write_of(case, stale)
    if found is None or not in_optimizer(found[1]):
        return False
    piece = shared(case, call, stale.node)
    return piece is not None and piece.repeats(call)


def _cause(case: Case, call: Backward, stale: Stale) -> Cause:
    graph = case.graph(call.number)
    node = graph.nodes[stale.node]
    found = write_of(case, stale)
    operation = found[1] if found is not None else None
    leaf = next((saved.leaf for saved in node.saved if saved.name == stale.name), None)
    wrote = operation.site if operation is not None else None
    declared = _declared(case, operation)
    by_optimizer = operation is not None and in_optimizer(operation)
    tensor = leaf or (None if by_optimizer or declared else code.edited(case, wrote))
    related = [Related("saved_at", node.site, node.name)]
    if operation is not None:
        related.append(Related("modified_at", wrote, short(operation.name)))
    if declared is not None and operation is not None:
        related.append(Related("declared_at", declared, _label(operation)))
    related.append(Related("fails_at", call.site, f"backward {call.number}"))
    return Cause(
        _message(node, tensor, operation, by_optimizer, stale),
        declared or wrote or node.site,
        tuple(related),
        fails=True,
        certain=operation is not None,
        advice=_advice(case, operation, by_optimizer, declared),
        node=stale.node,
        op=None if operation is None else operation.name,
        tensor=tensor,
        module=None if operation is None or operation.module is None else operation.module.path,
        backward=call.number,
    )


def write_of(case: Case, stale: Stale) -> tuple[Block, Operation] | None:
    """The first operator that wrote a saved tensor after it was saved."""
    blocks = {block.number: block for block in case.blocks}
    best: tuple[int, Block, Operation] | None = None
    for number, storage in stale.trail:
        block = blocks.get(number)
        for operation in block.operations if block is not None else ():
            for write in operation.writes:
                if write.storage != storage or write.version is None or block is None:
                    continue
                inside = stale.expected <= write.version < stale.version
                if inside and (best is None or write.version < best[0]):
                    best = (write.version, block, operation)
        if best is not None and best[0] == stale.expected:
            break
    return None if best is None else best[1:]


def _declared(case: Case, operation: Operation | None) -> Site | None:
    """Where the module that edits was built, when that is one line."""
    module = None if operation is None else operation.module
    if module is None:
        return None
    sites = {
        one.site for one in case.declarations if (one.path, one.module_class) == (module.path, module.module_class)
    }
    return sites.pop() if len(sites) == 1 else None


def in_optimizer(operation: Operation) -> bool:
    """Whether an operator ran in an optimizer's step."""
    for site in operation.stack:
        if site.origin is Origin.USER:
            return False
        if site.origin is Origin.TORCH and _OPTIMIZER in site.file:
            return True
    return False


def short(operator: str) -> str:
    """An operator's own name: add_ of aten.add_.Tensor."""
    parts = operator.split(".")
    return parts[1] if len(parts) > 1 else operator


def _label(operation: Operation) -> str:
    return "" if operation.module is None else f"{operation.module.label} ({operation.module.module_class})"


def _sequence(node: Node) -> int:
    return -1 if node.seq_nr is None else node.seq_nr


def _message(node: Node, tensor: str | None, operation: Operation | None, by_optimizer: bool, stale: Stale) -> str:
    what = f"`{tensor}`" if tensor else f"its {stale.name}"
    kept = f"{node.name} had saved {what} for its backward"
    if operation is None:
        return f"{kept}; something that is no recorded operator edited it before that ran"
    name = short(operation.name)
    if by_optimizer:
        return f"{kept}; then an optimizer's step changed it ({name}) before that backward ran"
    if operation.module is not None and operation.site is not None:
        return f"{kept}; then {name} edited it in place in {_label(operation)}"
    return f"{kept}; then {name} edited it in place"


def _advice(case: Case, operation: Operation | None, by_optimizer: bool, declared: Site | None) -> str:
    if by_optimizer:
        return "call step() after every backward that needs the old weights, or run the forward again after it"
    if declared is not None:
        return "build the module with inplace=False: the module before it has saved what it overwrites"
    plain = code.rewritten(case, operation.site) if operation is not None else None
    return f"write `{plain}`: that makes a new tensor and leaves the saved one alone" if plain else ""
