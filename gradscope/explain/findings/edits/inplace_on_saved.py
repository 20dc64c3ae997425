"""In-place edits of what autograd had saved: GS701."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.deductions.memory.inplace_writes import REFUSED, refused, write_of
from gradscope.explain.deductions.memory.old_results import read_after_step
from gradscope.explain.deductions.memory.renormed_weights import by_lookup, read_before_lookup
from gradscope.explain.deductions.memory.shared_subgraph import shared_subgraph
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import is_in_step
from gradscope.model.finding import Related
from gradscope.model.graph import Backward, Node
from gradscope.model.mutation import Stale
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site

_OLD = ", and this reads a result of before that step, for another optimizer"
_AGAIN = (
    "compute what this reads again after the step, of detached inputs: only the other optimizer needs the old graph"
)

_CLONE = "read a copy here, `weight.clone()`: a lookup with max_norm scales the rows that it finds too long in place"


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
        operators that ran. Of an optimizer's step it is the step, unless the loss of another optimizer, which
        trains nothing behind the changed weights, reads an old result after it: then the line that reads. Of a
        lookup with max_norm, which torch lets edit the weight, it is the line that read the weight before.
    """
    for call in case.failed():
        if REFUSED in (call.exception or ""):
            stale = refused(case, call)
            if stale is not None and not _is_carried_over(case, call, stale):
                yield _cause(case, call, stale)


def _is_carried_over(case: Case, call: Backward, stale: Stale) -> bool:
    """Whether the node is one of an earlier round of the loop, kept alive until a step changed the weights: GS712."""
    found = write_of(case, stale)
    if found is None or not is_in_step(found[1].stack):
        return False
    piece = shared_subgraph(case, call, stale.node)
    return piece is not None and piece.repeats(call)


def _cause(case: Case, call: Backward, stale: Stale) -> Cause:
    graph = case.graph(call.number)
    node = graph.nodes[stale.node]
    found = write_of(case, stale)
    operation = found[1] if found is not None else None
    leaf = next((saved.leaf for saved in node.saved if saved.name == stale.name), None)
    wrote = operation.site if operation is not None else None
    renorm = by_lookup(operation)
    declared = _declared(case, operation)
    by_optimizer = operation is not None and is_in_step(operation.stack)
    late = read_after_step(case, call, stale, found) if found is not None and by_optimizer else None
    tensor = leaf or (None if by_optimizer or declared else source_lines.edited(case, wrote))
    related = [Related("saved_at", node.site, node.name)]
    if operation is not None:
        related.append(Related("modified_at", wrote, base_name(operation.name)))
    built = built_at(case, operation.module) if renorm and operation is not None else declared
    if built is not None and operation is not None:
        related.append(Related("declared_at", built, _label(operation)))
    related.append(Related("fails_at", call.site, f"backward {call.number}"))
    shares = f"{tensor}.detach()" in (node.site.source or "") if tensor and node.site is not None else False
    message = _message(node, tensor, operation, by_optimizer, stale) + (_OLD if late is not None else "")
    advice = _AGAIN if late is not None else _advice(case, operation, by_optimizer, declared)
    read = read_before_lookup(case, node.site, leaf) if renorm else None
    return Cause(
        f"detach() shares memory: {message}" if shares else message,
        node.site if shares else late or read or declared or wrote or node.site,
        tuple(related),
        fails=True,
        certain=operation is not None,
        advice=f"read `{tensor}.detach().clone()` here" if shares else advice,
        node=stale.node,
        op=None if operation is None else operation.name,
        tensor=tensor,
        module=None if operation is None or operation.module is None else operation.module.path,
        backward=call.number,
    )


def _declared(case: Case, operation: Operation | None) -> Site | None:
    """Where the module that edits was built."""
    return None if operation is None else built_at(case, operation.module, inplace=True)


def _label(operation: Operation) -> str:
    return "" if operation.module is None else f"{operation.module.words} ({operation.module.module_class})"


def _message(node: Node, tensor: str | None, operation: Operation | None, by_optimizer: bool, stale: Stale) -> str:
    what = f"`{tensor}`" if tensor else f"its {stale.name}"
    kept = f"{node.name} had saved {what} for its backward"
    if operation is None:
        return f"{kept}; something that is no recorded operator edited it before that ran"
    name = base_name(operation.name)
    if by_optimizer:
        return f"{kept}; then an optimizer's step changed it ({name}) before that backward ran"
    if operation.module is not None and operation.site is not None:
        return f"{kept}; then {name} edited it in place in {_label(operation)}"
    return f"{kept}; then {name} edited it in place"


def _advice(case: Case, operation: Operation | None, by_optimizer: bool, declared: Site | None) -> str:
    if by_lookup(operation):
        return _CLONE
    if by_optimizer:
        return "call step() after every backward that needs the old weights, or run the forward again after it"
    if declared is not None:
        return "build the module with inplace=False: the module before it has saved what it overwrites"
    plain = source_lines.rewritten(case, operation.site) if operation is not None else None
    return f"write `{plain}`: that makes a new tensor and leaves the saved one alone" if plain else ""
