"""What the source says about one parameter of forward: a number, a tensor, an index or a mask, with a gradient or not.

Read from annotations, docstrings, what the methods do with it, and what backward returns in its place; nothing is run.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradscope.functions.source import Method, called_name
from gradscope.functions.subject import Subject


class Kind(enum.Enum):
    """What a parameter probably is."""

    TENSOR = "tensor"
    NUMBER = "number"
    WHOLE = "whole number"
    FLAG = "flag"
    INDEX = "index"
    MASK = "mask"
    CALLABLE = "callable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Clue:
    """One parameter as the source shows it. `values` are those that it is compared with; `gradient` False: backward
    returns None in its place, always; None: what backward returns cannot be read.
    """

    parameter: inspect.Parameter
    kind: Kind
    values: tuple[Any, ...] = ()
    gradient: bool | None = True


WRITTEN = (  # in annotations and docstrings; the first that matches
    (r"long ?tensor|int ?tensor", Kind.INDEX),
    (r"bool ?tensor", Kind.MASK),
    (r"tensor|parameter|variable", Kind.TENSOR),
    (r"callable|nn\.module|function", Kind.CALLABLE),
    (r"\bbool", Kind.FLAG),
    (r"\bint\b|\binteger", Kind.WHOLE),
    (r"\bfloat\b|\bscalar|\bnumber", Kind.NUMBER),
)
NUMERIC = {"float": Kind.NUMBER, "int": Kind.WHOLE, "range": Kind.WHOLE, "bool": Kind.FLAG}
SIZES = (
    "zeros",
    "ones",
    "empty",
    "full",
    "randn",
    "rand",
    "arange",
    "linspace",
    "eye",
    "topk",
    "new_zeros",
    "new_ones",
)
FROM_NUMBERS = ("tensor", "as_tensor", "scalar_tensor", "finfo", "iinfo", "Generator")
INDEXING = ("gather", "index_select", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_add", "index_add_")
MASKING = ("masked_fill", "masked_fill_", "masked_select", "where")
WHOLE_KEYWORDS = ("dim", "axis", "k", "groups", "stride", "padding", "dilation", "chunks", "num_classes")
TENSOR_ATTRIBUTES = frozenset(
    [
        "shape",
        "size",
        "dtype",
        "device",
        "dim",
        "ndim",
        "numel",
        "clone",
        "contiguous",
        "view",
        "reshape",
        "t",
        "T",
        "mT",
        "transpose",
        "permute",
        "unsqueeze",
        "squeeze",
        "expand",
        "expand_as",
        "detach",
        "data",
        "new",
        "new_zeros",
        "new_ones",
        "new_empty",
        "new_tensor",
        "sum",
        "mean",
        "exp",
        "log",
        "abs",
        "clamp",
        "pow",
        "sqrt",
        "mul",
        "div",
        "requires_grad",
        "to",
        "type",
        "type_as",
        "float",
        "double",
        "half",
        "tanh",
        "sigmoid",
        "max",
        "min",
        "round",
        "ge",
        "gt",
        "le",
        "lt",
        "sign",
        "floor",
        "flatten",
        "chunk",
        "is_contiguous",
        "is_cuda",
        "layout",
        "matmul",
    ]
)


def clues_of(subject: Subject) -> list[Clue]:
    """A clue for each positional parameter of forward that apply fills, ctx not counted."""
    forward = subject.method("forward")
    if forward is None:
        return []
    parameters = [p for p in forward.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    parameters = parameters if subject.separate_context else parameters[1:]
    none = places_without_gradient(subject.method("backward") or subject.method("vjp"))
    return [
        clue_of(subject, forward, p, None if none is None and place else place not in (none or ()))
        for place, p in enumerate(parameters)
    ]


def clue_of(subject: Subject, forward: Method, parameter: inspect.Parameter, gradient: bool | None) -> Clue:
    """All that is known of one parameter: what is written of it, else what is done with it."""
    uses = list(kinds_by_use(forward, parameter.name))
    values = compared_with(forward, parameter.name)
    kind = kind_in_words(annotation_text(parameter)) or kind_in_words(described(subject, parameter.name))
    if kind in (None, Kind.TENSOR):  # a use may say more: an index is a tensor, too
        kind = next((use for use in uses if use in (Kind.INDEX, Kind.MASK)), kind) if not gradient or kind else kind
    if kind is None:
        ranked = (Kind.CALLABLE, Kind.TENSOR, Kind.WHOLE, Kind.NUMBER, Kind.INDEX, Kind.MASK, Kind.FLAG)
        kind = next((one for one in ranked if one in uses), Kind.UNKNOWN)
    if kind is Kind.UNKNOWN and not gradient and kept_on_context(subject, parameter.name):
        kind = Kind.NUMBER
    return Clue(parameter, kind, values, gradient)


def annotation_text(parameter: inspect.Parameter) -> str:
    """The annotation as it is written, or nothing."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None) or str(annotation)


def described(subject: Subject, name: str) -> str:
    """What the docstrings of the class and of forward say of a parameter: the words behind its name."""
    forward = subject.method("forward")
    texts = (inspect.getdoc(subject.function) or "", inspect.getdoc(forward.function) if forward else "")
    for text in filter(None, texts):
        found = re.search(
            rf"^[\s:*-]*(?:param\s+)?{re.escape(name)}\s*(?:\(([^)]*)\)|:\s*([^\n]{{0,40}}))", text, re.MULTILINE
        )
        if found:
            return found[1] or found[2] or ""
    return ""


def kind_in_words(text: str) -> Kind | None:
    """The kind that an annotation or a docstring names."""
    low = text.lower()
    return next((kind for pattern, kind in WRITTEN if re.search(pattern, low)), None)


def kinds_by_use(method: Method, name: str) -> Iterator[Kind]:
    """What the uses of a name in a method make of it."""
    for node in method.walk():
        if isinstance(node, ast.Attribute) and is_name(node.value, name) and node.attr in TENSOR_ATTRIBUTES:
            yield Kind.TENSOR
        elif isinstance(node, ast.Call):
            yield from kinds_by_call(node, name)
        elif isinstance(node, ast.Subscript) and is_name(node.slice, name):
            shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            yield Kind.WHOLE if shape else Kind.INDEX
        elif isinstance(node, ast.UnaryOp) and is_name(node.operand, name) and isinstance(node.op, ast.Invert):
            yield Kind.MASK
        elif isinstance(node, ast.If | ast.IfExp) and is_flag(node.test, name):
            yield Kind.FLAG
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift) and is_name(node.right, name):
            yield Kind.WHOLE
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield from [Kind.TENSOR] * (is_name(node.left, name) or is_name(node.right, name))


def kinds_by_call(call: ast.Call, name: str) -> Iterator[Kind]:
    """What it says of a name that it is called, or given to this call."""
    called = called_name(call)
    if is_name(call.func, name):
        yield Kind.CALLABLE
    if any(keyword.arg in WHOLE_KEYWORDS and is_name(keyword.value, name) for keyword in call.keywords):
        yield Kind.WHOLE
    if not any(is_name(argument, name) for argument in call.args):
        return
    root = call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""
    if called in INDEXING:
        yield Kind.INDEX
    elif called in MASKING:
        yield Kind.MASK
    elif called in NUMERIC:
        yield NUMERIC[called]
    elif root == "math" or called in FROM_NUMBERS:
        yield Kind.NUMBER
    elif called in SIZES:
        yield Kind.WHOLE
    elif called in ("save_for_backward", "save_for_forward", "mark_dirty") or (
        root in ("torch", "F") and is_name(call.args[0], name)
    ):
        yield Kind.TENSOR


def is_name(node: ast.AST | None, name: str) -> bool:
    """Whether a piece of syntax is this plain name."""
    return isinstance(node, ast.Name) and node.id == name


def is_flag(test: ast.AST, name: str) -> bool:
    """Whether a test asks for the truth of a name itself."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_name(test.operand, name)
    if isinstance(test, ast.BoolOp):
        return any(is_flag(value, name) for value in test.values)
    return is_name(test, name)


def compared_with(method: Method, name: str) -> tuple[Any, ...]:
    """The constants that a method compares a parameter with: each is a branch that can be taken."""
    found: list[Any] = []
    for node in method.walk():
        if isinstance(node, ast.Compare) and is_name(node.left, name):
            for other in node.comparators:
                parts = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
                found += [part.value for part in parts if isinstance(part, ast.Constant)]
    equal = [value for value in found if isinstance(value, str | int) and not isinstance(value, bool)]
    return tuple(dict.fromkeys(equal))


def kept_on_context(subject: Subject, name: str) -> bool:
    """Whether `ctx.something = name` keeps it as it is, as authors do with what is no tensor."""
    for method in subject.context_methods:
        for node in method.walk():
            if not isinstance(node, ast.Assign) or not is_name(node.value, name):
                continue
            if any(
                isinstance(target, ast.Attribute) and is_name(target.value, method.context) for target in node.targets
            ):
                return True
    return False


def places_without_gradient(backward: Method | None) -> set[int] | None:
    """The places at which every return of backward has None; None where a return is no tuple that is written out."""
    returns = [n for n in backward.walk() if isinstance(n, ast.Return) and n.value is not None] if backward else []
    tuples = [n.value.elts for n in returns if isinstance(n.value, ast.Tuple)]
    if not tuples or len(tuples) < len(returns) or any(isinstance(e, ast.Starred) for elts in tuples for e in elts):
        return set() if not returns or any(isinstance(n.value, ast.Name) for n in returns) else None
    longest = max(len(elts) for elts in tuples)
    return {place for place in range(longest) if all(place >= len(elts) or is_none(elts[place]) for elts in tuples)}


def is_none(node: ast.AST) -> bool:
    """Whether this is a literal None."""
    return isinstance(node, ast.Constant) and node.value is None
