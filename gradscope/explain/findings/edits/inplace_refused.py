"""In-place edits that torch refuses at once: GS703 of a leaf, GS704 of an expanded tensor, GS705 of a view."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site

_FILL = "leave requires_grad out: the result gets a graph from what is put in"
_LEAF = "leaf Variable that requires grad is being used in an in-place operation"
_EXPANDED = "more than one element of the written-to tensor refers to a single memory location"
_VIEW = "is a view and is being modified inplace"
_NO_GRAD_VIEW = "A view was created in no_grad mode"
_HOOKED = "BackwardHookFunction"
_EXPANDS = {"expand", "expand_as", "broadcast_to", "broadcast_tensors"}
_VIEWS = {"split", "split_with_sizes", "unbind", "chunk", "tensor_split"}


def inplace_on_leaf(case: Case) -> Iterator[Cause]:
    """In-place edit of a leaf.

    What it flags: a tensor that requires a gradient itself, or a view of one, was edited in place in the graph.
    Why: a leaf's gradient is that of the values it holds. An edit would make it the result of an operation, and then no
        leaf would be left to collect the gradient, so torch refuses. Indexing (`w[0]`), transposing and reshaping give
        views of the leaf: to edit them is to edit it.
    Wrong:
        w = torch.zeros(3, requires_grad=True)
        w[0] = 1.0            # meant to set a value
        w -= 0.1 * w.grad     # meant as an update
    Right:
        with torch.no_grad():
            w[0] = 1.0
            w -= 0.1 * w.grad
    Do instead: put an update or an initialisation under `torch.no_grad()`; where the gradient must flow through the
        edit, work on a copy (`w.clone()`).
    How it is found: torch's own error; its stack names the line.
    """
    for failure in case.failures():
        if _LEAF in failure.message:
            name = source_lines.edited(case, failure.site)
            view = "a view of " if "a view of a leaf" in failure.message else ""
            what = f"`{name}`" if name else "the tensor"
            filled = _filled_in(case, failure.site, name)
            if filled is not None:
                message = f"`{name}` is made here as a leaf that requires grad, and then filled in"
                places = (Related("modified_at", failure.site, "in place"),)
                yield Cause(message, filled, places, fails=True, certain=False, tensor=name, advice=_FILL)
                continue
            yield _cause(
                failure, f"{what} is {view}a leaf that requires grad, and this line edits it in place", tensor=name
            )


def _filled_in(case: Case, edit: Site | None, name: str | None) -> Site | None:
    """Where a function makes a leaf that requires grad, into parts of which it then puts what it computes."""
    statement = None if edit is None else syntax(case).statement(edit)
    function = source_lines.enclosing(case, edit)
    if edit is None or function is None or not isinstance(statement, ast.Assign) or _is_a_value(statement.value):
        return None
    for one in ast.walk(function):
        if (
            isinstance(one, ast.Assign)
            and name in [last_name(target) for target in one.targets]
            and _is_leaf(one.value)
        ):
            return syntax(case).site(edit.file, one.lineno) if one.lineno < edit.line else None
    return None


def _is_leaf(made: ast.expr) -> bool:
    """Whether it is a call that is given requires_grad=True."""
    given = made.keywords if isinstance(made, ast.Call) else []
    return any(one.arg == "requires_grad" and ast.unparse(one.value) == "True" for one in given)


def _is_a_value(node: ast.expr) -> bool:
    """Whether it sets a number, or follows a gradient, which is no part of a graph."""
    return isinstance(node, ast.Constant) or ".grad" in ast.unparse(node)


def inplace_on_expanded(case: Case) -> Iterator[Cause]:
    """In-place edit of an expanded tensor.

    What it flags: a tensor was edited in place several of whose elements are one and the same number in memory.
    Why: `expand`, and all that broadcasts, copies nothing: a row stands for all rows. An in-place operation would write
        that one number once for each of them. Gradients are often expanded too: that of `x.sum()` is a single 1.
    Wrong:
        bias = torch.zeros(4).expand(3, 4)
        bias += noise
    Right:
        bias = torch.zeros(4).expand(3, 4).clone()
        bias += noise
    Do instead: edit a `.clone()` or use `repeat`, or make a new tensor (`bias = bias + noise`).
    How it is found: torch's own error; the operator that expanded is the last one on a line that gave the tensor its
        name. Where that keeps it on `self`, it is the line to edit, else the edit is.
    """
    for failure in case.failures():
        if _EXPANDED in failure.message:
            name = source_lines.edited(case, failure.site)
            what = f"`{name}`" if name else "the tensor"
            told, made = f"several elements of {what} are one number in memory", _made_by(case, name, _EXPANDS)
            if made is not None and name is not None and name.startswith("self.") and made.site != failure.site:
                edit = (Related("fails_at", failure.site, "the edit"),)
                yield Cause(f"{told}, and it is kept to be edited in place", made.site, edit, fails=True, tensor=name)
            else:
                yield _cause(failure, f"{told}, and this line edits it in place", made, name)


def inplace_on_view(case: Case) -> Iterator[Cause]:
    """In-place edit of a view that cannot take one.

    What it flags: an in-place edit of one of several views (`split`, `chunk`, `unbind`, iterating over a tensor), of a
        view that was made under no_grad, or of one that a custom Function returned.
    Why: an edit of a view changes its base, so torch rewrites the history of the base. It cannot when one node made
        several views at once, when no node made the view, or when the view's backward is not torch's own.
    Wrong:
        left, right = h.chunk(2, dim=-1)
        left.mul_(0.5)
    Right:
        left, right = h.chunk(2, dim=-1)
        left = left * 0.5
    Do instead: make a new tensor instead of editing the view; or take the view by slicing (`h[:, :2]`).
    How it is found: torch's own error; the operator that made the views is the last one on a line that gave the tensor
        its name.
    """
    for failure in case.failures():
        message = failure.message
        if (_VIEW in message or _NO_GRAD_VIEW in message) and _HOOKED not in message:
            name = source_lines.edited(case, failure.site)
            what = f"`{name}`" if name else "the tensor"
            why = "that was made under no_grad" if _NO_GRAD_VIEW in message else "that cannot be edited in place"
            yield _cause(failure, f"{what} is a view {why}, and this line edits it", _made_by(case, name, _VIEWS), name)


def _cause(failure: Failure, message: str, made: Operation | None = None, tensor: str | None = None) -> Cause:
    related = () if made is None else (Related("born_at", made.site, base_name(made.name)),)
    if failure.backward is not None:
        related = (*related, Related("fails_at", None, f"in backward {failure.backward}"))
    return Cause(message, failure.site, related, fails=True, tensor=tensor, backward=failure.backward)


def _made_by(case: Case, name: str | None, operators: set[str]) -> Operation | None:
    """The last of these operators to run on a line that assigns this name."""
    if name is None:
        return None
    for block in reversed(case.blocks()):
        for operation in reversed(block.operations):
            if base_name(operation.name) in operators and source_lines.assigned(case, operation.site) == name:
                return operation
    return None
