"""GS878: two parameters over one memory, where one parameter with two names was meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name

_NAMES, _TAKES = ("weight", "bias"), "_weight"  # an argument of nn.Embedding


def one_memory(case: Case) -> Iterator[Cause]:
    """What it flags: a parameter that is made of another module's, over whose memory it lies.

    Why: nn.Parameter(other.weight) is a new parameter that shares numbers, and nothing else, with the old one. Each has
    a gradient of its own; an optimizer steps both, over the same numbers; to(dtype) and loading part them for good.

    Wrong:
        self.decoder.weight = nn.Parameter(self.encoder.weight)

    Right:
        self.decoder.weight = self.encoder.weight

    Do instead: assign the parameter itself, or give Parameter a clone() where they shall differ.

    How it is found: the text of the program. A hint: the sharing may be meant.
    """
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Call) and _takes_memory(node):
                yield Cause(
                    "this makes a second parameter over the same memory: each is stepped, and to() parts them",
                    syntax(case).site(file, node.lineno),
                    certain=False,
                )
                return


def _takes_memory(call: ast.Call) -> bool:
    """`nn.Parameter(other.weight)`, or `nn.Embedding(10, 4, _weight=other.weight)`."""
    given = [one.value for one in call.keywords if one.arg == _TAKES and called_name(call) == "Embedding"]
    given += call.args[:1] if called_name(call) == "Parameter" else []
    return any(isinstance(one, ast.Attribute) and one.attr in _NAMES for one in given)
