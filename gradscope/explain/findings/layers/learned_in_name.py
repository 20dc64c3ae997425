"""GS709: what is called learned, or is described so, and is a buffer or a plain tensor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.drawn_values import DrawnValue, drawn_values
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.flow import FlowOperation

_LEARNED = re.compile(r"\b(learn(ed|t|able)|trained|trainable)\b", re.IGNORECASE)
_MEANT = re.compile(
    r"\b(no|not|non|nor|never|un|without|fixed|frozen|froze|freeze|freezes|constant|static|pre|pretrained|running|"
    r"statistics|ema|average[sd]?|moving|momentum|random|hand|loaded|loads|elsewhere|earlier|previously|later|once|"
    r"buffer|buffers|instead|than|unlike|from|by|ablation|baseline|untrained|unlearned)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GIVEN_OTHERWISE = ("functional_call", "load_state_dict", "swap_tensors", "stack_module_state", "buffers")


def learned_in_name(case: Case) -> Iterator[Cause]:
    """What it flags: a module that is called learned or trainable, whose only values are a buffer or a plain tensor.

    Why: an optimizer is given parameters. A buffer is saved and moved with its module, and a tensor that is an
    attribute is not even that; both stay as they were drawn, and nothing says so.

    Wrong:
        class LearnedPositions(nn.Module):
            def __init__(self, count, width):
                super().__init__()
                self.register_buffer("table", 0.02 * torch.randn(count, width))

    Right:
                self.table = nn.Parameter(0.02 * torch.randn(count, width))

    Do instead: make it an nn.Parameter before the optimizer is built. Where it is to stay as it is, say so in its name.

    How it is found: the name of a class, its docstring, the attribute or the comment beside it says that it is learned,
    and nothing there says that it is not. Its __init__ draws one tensor, it has no parameter and no other module, and
    nothing writes the tensor later. What its forward made went into a loss together with parameters. A hint.
    """
    files = syntax(case).files
    if any(_says(one, _GIVEN_OTHERWISE) for file in files for one in syntax(case).nodes(file)):
        return
    for value in drawn_values(case):
        if _is_learned_in_words(case, value) and not _is_used_elsewhere(case, value) and _ran(case, value.owner.name):
            kind = "a buffer" if isinstance(value.statement, ast.Expr) else "a plain tensor"
            yield Cause(
                f"{value.owner.name} says that it is learned, and has no parameter: `{value.attribute}` is {kind}, "
                "which no optimizer moves",
                syntax(case).site(value.file, value.statement.lineno),
                certain=False,
                tensor=value.attribute,
            )


def _says(node: ast.AST, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Attribute | ast.Name) and last_name(node) in names


def _is_learned_in_words(case: Case, value: DrawnValue) -> bool:
    """Whether one of the texts says that it is learned, and none says anything else."""
    lines = syntax(case).parsed(value.file).lines
    first, last = value.statement.lineno - 1, value.statement.end_lineno or value.statement.lineno
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    comments = [line.partition("#")[2] for line in lines[first:last]]
    named = [" ".join(_PARTS.findall(name)) for name in (value.owner.name, value.attribute)]
    texts = [*named, ast.get_docstring(value.owner) or "", *comments]
    return any(map(_LEARNED.search, texts)) and not any(map(_MEANT.search, texts))


def _is_used_elsewhere(case: Case, value: DrawnValue) -> bool:
    """Whether the program takes the attribute in hand outside of its class, more than to print it."""
    own = {id(one) for one in ast.walk(value.owner)}
    for file in syntax(case).files:
        nodes = (one for one in syntax(case).nodes(file) if isinstance(one, ast.Attribute) and id(one) not in own)
        lines = (syntax(case).line(file, one.lineno) or "" for one in nodes if one.attr == value.attribute)
        if any("print(" not in line for line in lines):
            return True
    return False


def _ran(case: Case, owner: str) -> bool:
    """Whether a module's forward made a part of a loss, in a model that learns, of nothing that learns itself."""
    flow = dataflow(case)
    ran = [at for at, one in enumerate(flow.operations) if one.backward is None and _is_in(one, owner)]
    own = [at for at in ran if flow.operations[at].operation.grad]
    reads = [read for at in own for read in flow.operations[at].reads]
    if any(read.requires_grad and read.leaf for read in reads) or _is_written(flow, own):
        return False
    held = any(look.parameters for look in case.optimizer_looks())
    return held and any(made in flow.useful for at in own for made in flow.operations[at].makes)


def _is_written(flow: RecordedDataflow, own: list[int]) -> bool:
    """Whether what such a module reads again and again, and needs no gradient, gets new values."""
    first: dict[int, int] = {}
    for at in own:
        for read in flow.operations[at].reads:
            if not read.requires_grad and read.tensor in flow.tensors:
                first.setdefault(flow.tensors[read.tensor].storage, at)
    return any(at > first.get(one, at) for at, written in flow.written.items() for one in written)


def _is_in(operation: FlowOperation, owner: str) -> bool:
    module = operation.operation.module
    return module is not None and any(one.module_class == owner for one in module.chain)
