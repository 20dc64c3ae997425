"""GS221 at run time: a custom Function reads a tensor of a torch.func transform that it was not given.

The surprise: under grad or vjp alone torch says nothing and a gradient is missing; with vmap it ends in an assertion.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.transform_calls import called_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.graphs.transforms import Under, transforms
from gradscope.model.finding import Related
from gradscope.model.graph import FunctionClass
from gradscope.model.site import Site, Stack

_NUMBERS = ("float", "bfloat", "complex")
REFUSED = ("wrapper == nullptr", "functorch")  # the assertion's words


def captured_tensor(case: Case) -> Iterator[Cause]:
    """The forward of a Function reads what torch.func differentiates from a global, a closure or an attribute."""
    yield from _refused(case)
    said: set[tuple[str, Site | None, str]] = set()
    for one in case.captured_tensors():
        key = (one.function.name, one.site, one.name)
        if key not in said and _goes_on(dataflow(case), one.stack):
            said.add(key)
            under = transforms(one.stack)
            message = (
                f"the forward of {one.function.bare_name} reads `{one.name}`, which {_names(under)} differentiates, "
                "and not as an argument: this use of it silently gets no gradient"
            )
            yield Cause(message, one.site, _places(one.function, under), tensor=one.name, function=one.function.name)


def _goes_on(flow: RecordedDataflow, stack: Stack) -> bool:
    """Whether numbers that an operator computed leave the forward: a check of the values takes no gradient away.

    True where the recording cannot tell.
    """
    made = [operation.makes for operation in flow.operations if operation.operation.stack == stack]
    waiting = [tensor for tensors in made for tensor in tensors]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        known = flow.tensors.get(one)
        if one not in seen and known is not None and known.type.dtype.startswith(_NUMBERS):
            readers = flow.readers.get(one, [])
            if not flow.inside_functions.issuperset(readers) or not readers:
                return True
            waiting += [tensor for reader in readers for tensor in flow.operations[reader].makes]
        seen.add(one)
    return not made


def _refused(case: Case) -> Iterator[Cause]:
    for failure in case.failures() if case.failing_functions() else ():
        if all(words in failure.message for words in REFUSED):
            function, under = case.failing_functions()[-1], transforms(failure.stack)
            message = (
                f"the forward of {function.bare_name} reads a tensor of {_names(under)} that is not one of its "
                "arguments: torch's assertion fails"
            )
            site = failure.site or function.class_site
            yield Cause(message, site, _places(function, under), fails=True, function=function.name)


def _places(function: FunctionClass, under: tuple[Under, ...]) -> tuple[Related, ...]:
    return (Related("class_at", function.class_site, function.name), *called_at(under))


def _names(under: tuple[Under, ...]) -> str:
    return " of ".join(one.name for one in under) or "torch.func"
