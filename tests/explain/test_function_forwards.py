"""The forward of a custom Function is known on every torch, with a frame of torch's around it or without."""

from __future__ import annotations

import pytest

from gradscope.explain.evidence.function_forwards import runs_in_a_function
from gradscope.explain.evidence.syntax import Syntax
from gradscope.model.site import Origin, Site, Stack

SCRIPT = """\
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

class Model(Module):
    def forward(self, x):
        return Square.apply(x)

y = Model().forward(x)
"""
IN_THE_FUNCTION = Site("train.py", 4, "forward")
IN_THE_MODULE = Site("train.py", 8, "forward")
SCRIPTS_LINE = Site("train.py", 10, "<module>")
ELSEWHERE = Site("unknown.py", 4, "forward")
MODULES_CALL = Site("torch/nn/modules/module.py", 1, "_call_impl", origin=Origin.TORCH)
FUNCTIONS_CALL = Site("torch/autograd/function.py", 1, "apply", origin=Origin.TORCH)


@pytest.mark.parametrize(
    ("stack", "inside"),
    [
        ((IN_THE_FUNCTION, IN_THE_MODULE, SCRIPTS_LINE), True),
        ((Site("train.py", 9, "helper"), IN_THE_FUNCTION, SCRIPTS_LINE), True),
        ((IN_THE_MODULE, SCRIPTS_LINE), False),
        ((SCRIPTS_LINE,), False),
        ((), False),
        ((Site("unknown.py", 4, "anything"), FUNCTIONS_CALL, SCRIPTS_LINE), True),
        ((ELSEWHERE, SCRIPTS_LINE), True),
        ((ELSEWHERE, MODULES_CALL, SCRIPTS_LINE), False),
    ],
    ids=[
        "a static method",
        "what it calls",
        "a module's forward",
        "the script",
        "nowhere",
        "torch's frame, below 2.14",
        "a forward without a source",
        "a module's forward without a source",
    ],
)
def test_a_forward_of_a_function_is_told_from_that_of_a_module(stack: Stack, inside: bool) -> None:
    assert runs_in_a_function(Syntax({"train.py": SCRIPT}), stack) is inside
