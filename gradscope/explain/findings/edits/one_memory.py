"""GS878: two parameters over one memory, where one parameter with two names was meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name
from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site
from gradscope.model.training import ONE_MEMORY, PARTED, TrainingCall

_NAMES, _TAKES = ("weight", "bias"), "_weight"  # an argument of nn.Embedding
_ALIKE = ("detach", "t", "transpose", "view", "reshape", "view_as")  # calls that leave the memory
_WORD = re.compile(r"\w+")
_ADDS_UP = "SGD"  # steps as far along two gradients, one after the other, as along their sum


def one_memory(case: Case) -> Iterator[Cause]:
    """What it flags: two parameters of an optimizer that lie over one memory, or one that is made of another module's.

    Why: nn.Parameter(other.weight) is a new parameter that shares numbers, and nothing else, with the old one; so are
    two after one.data = other.data. Each has a gradient of its own, which knows half of what the numbers are used for;
    an optimizer steps both, over the same numbers, and decays them twice; to(dtype) and loading part them for good.

    Wrong:
        self.decoder.weight = nn.Parameter(self.encoder.weight)

    Right:
        self.decoder.weight = self.encoder.weight

    Do instead: assign the parameter itself, or give Parameter a clone() where they shall differ.

    How it is found: at an optimizer's first step, several of its parameters hold a gradient and lie over the same
    memory, from the same element on, with as many elements; and no load_state_dict() has parted them, which is told by
    itself. The line is the one of the program that gives `.data` or a Parameter the memory of another, calls set_() or
    loads with assign=True, and has most of their names; else the one that makes the optimizer. A hint with SGD, which
    goes as far along two gradients as along their sum. Or a hint by the text of the program alone, where a Parameter
    is made of another: the sharing may be meant.
    """
    proven = [call for timeline in timelines(case) for _, call in timeline.of(ONE_MEMORY)]
    parted = [_words(call) for timeline in timelines(case) for _, call in timeline.of(PARTED)]
    for call in proven:
        if not any(words <= _words(call) for words in parted):
            yield _stepped(case, call)
    if proven:
        return
    for site, node in _sharing(case):
        if isinstance(node, ast.Call) and _takes_memory(node):
            yield Cause(
                "this makes a second parameter over the same memory: each is stepped, and to() parts them",
                site,
                certain=False,
            )
            return


def _stepped(case: Case, call: TrainingCall) -> Cause:
    """What is told of parameters that an optimizer was seen to step."""
    name = next((look.name for look in case.optimizer_looks() if look.optimizer == call.optimizer), "the optimizer")
    adds_up, made = name == _ADDS_UP, made_at(case, call.optimizer)
    site = _line(case, call) or made or call.site
    return Cause(
        f"{call.module} are {call.count} parameters over one memory: {name} steps the same numbers {call.count} times, "
        "each time by a part of their gradient",
        site,
        tuple(
            Related(*one)
            for one in (("declared_at", made, "the optimizer"), ("stepped_at", call.site, "the step"))
            if one[1] not in (None, site)
        ),
        certain=not adds_up,
        severity=Severity.INFO if adds_up else Severity.WARNING,
        tensor=(call.module or "").partition(",")[0] or None,
    )


def _line(case: Case, call: TrainingCall) -> Site | None:
    """The line that gives one the memory of the other: the only one, or the one that has most of their names."""
    names = _words(call)
    found = [(len(names.intersection(_WORD.findall(ast.unparse(node)))), site) for site, node in _sharing(case)]
    most = max((count for count, _ in found), default=0)
    best = [site for count, site in found if count == most]
    return best[0] if most or len(best) == 1 else None


def _words(call: TrainingCall) -> set[str]:
    return set(_WORD.findall(call.module or ""))


def _sharing(case: Case) -> Iterator[tuple[Site, ast.AST]]:
    """The lines that give a parameter memory that is there already."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Assign | ast.Call) and _shares(node):
                yield syntax(case).site(file, node.lineno), node


def _shares(node: ast.Assign | ast.Call) -> bool:
    """`one.data = other.data`, `one.set_(other)`, `Parameter(other.weight)`, `load_state_dict(state, assign=True)`."""
    if isinstance(node, ast.Call) and called_name(node) == "load_state_dict":
        return any(one.arg == "assign" for one in node.keywords)
    if isinstance(node, ast.Call):
        taken = node.args[:1] if called_name(node) in ("set_", "Parameter") else []
        return _takes_memory(node) or any(_is_alias(one) for one in taken)
    return any(isinstance(one, ast.Attribute) and one.attr == "data" for one in node.targets) and _is_alias(node.value)


def _is_alias(value: ast.expr) -> bool:
    """Whether an expression is a name, an attribute or a view of one."""
    while isinstance(value, ast.Call | ast.Attribute):
        if isinstance(value, ast.Call) and called_name(value) not in _ALIKE:
            return False
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Name | ast.Subscript)


def _takes_memory(call: ast.Call) -> bool:
    """`nn.Parameter(other.weight)`, or `nn.Embedding(10, 4, _weight=other.weight)`."""
    given = [one.value for one in call.keywords if one.arg == _TAKES and called_name(call) == "Embedding"]
    given += call.args[:1] if called_name(call) == "Parameter" else []
    return any(isinstance(one, ast.Attribute) and one.attr in _NAMES for one in given)
