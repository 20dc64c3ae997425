"""The first NaN or Inf of a run that is a fault, and where it was born."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gradscope.explain.deductions.numbers.skipped_steps import left_out, skipped_to_the_end
from gradscope.explain.evidence.case import Case
from gradscope.model.birth import Arrival, Birth
from gradscope.model.graph import Graph, Node

SCALER = "aten._amp_foreach_non_finite_check_and_unscale_.default"
SAYS_SO = re.compile(r"\b(nan|inf|infinite|non-?finite|isfinite|isnan|isinf|finite)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FirstNonfinite:
    """The first NaN or Inf that did harm: its birth, what it reached (None: nothing), whether it ended the run."""

    birth: Birth | None
    arrival: Arrival | None
    fails: bool
    leaves: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """What is not finite, in words."""
        if self.arrival is None:
            return "the program stopped over it"
        what = "NaN" if self.arrival.nan else "Inf"
        if self.arrival.leaf is None:
            return f"the loss is {what} in backward {self.arrival.backward}"
        several = len(self.leaves)
        whose = f"{several} leaves" if several > 1 else self.arrival.leaf
        return f"the gradient of {whose} is {what} in backward {self.arrival.backward}, though the loss is finite"


def first_nonfinite(case: Case) -> FirstNonfinite | None:
    """The first NaN or Inf that reached a loss or a gradient, or over which the program stopped."""
    births = {birth.number: birth for birth in case.births()}
    fails = _said(case)
    scaled: set[int] | None = None
    for arrival in case.arrivals():
        birth = None if arrival.birth is None else births.get(arrival.birth)
        if arrival.leaf is not None or (birth is not None and _by_scaler(birth)):
            scaled = _scaled(case) if scaled is None else scaled
            if arrival.backward in scaled and skipped_to_the_end(case) is None:
                continue  # the scaler has seen it, and skips the step
        if birth is None and arrival.leaf is not None and not _did_harm(case, arrival):
            continue  # nobody has seen why, and the program may have left the step out
        if not fails and arrival.backward in left_out(case):
            continue  # the program has seen it as well
        same = [one for one in case.arrivals() if one.backward == arrival.backward and one.leaf is not None]
        return FirstNonfinite(birth, arrival, fails, tuple(one.leaf for one in same if one.leaf))
    unmasked = [birth for birth in case.births() if birth.masked is None]
    return FirstNonfinite(unmasked[0], None, True) if fails and unmasked else None


def _did_harm(case: Case, arrival: Arrival) -> bool:
    """Whether a loss was not finite after this, or there was none."""
    later = [call for call in case.backwards() if call.number > arrival.backward]
    return not later or any(one.leaf is None and one.backward > arrival.backward for one in case.arrivals())


def node_of(case: Case, birth: Birth) -> tuple[Graph, Node] | None:
    """The backward node in which it was born."""
    if birth.backward is None or birth.node is None:
        return None
    if not any(call.number == birth.backward for call in case.backwards()):
        return None  # its step was given up
    graph = case.graph(birth.backward)
    return (graph, graph.nodes[birth.node]) if birth.node < len(graph.nodes) else None


def _said(case: Case) -> bool:
    """Whether the exception that ended the program, or a backward, is about values that are not finite."""
    texts = [f"{failure.message} {failure.site.source if failure.site else ''}" for failure in case.failures()]
    texts += [call.exception for call in case.failed() if call.exception]
    return any(SAYS_SO.search(text) for text in texts)


def _by_scaler(birth: Birth) -> bool:
    return any(site.file.endswith("/torch/amp/grad_scaler.py") for site in birth.stack)


def _scaled(case: Case) -> set[int]:
    """The backward calls whose gradients a gradient scaler then checked: several at once where they accumulate.

    Matched by time: on an accelerator the nodes of a backward run in a thread of their own.
    """
    found: set[int] = set()
    since: dict[int, float] = {}  # by thread: when a scaler looked last
    for block in case.blocks():
        if block.backward is None and any(operation.name == SCALER for operation in block.operations):
            start, since[block.thread] = since.get(block.thread, -1.0), block.started
            calls = [call for call in case.backwards() if call.thread == block.thread]
            found |= {call.number for call in calls if start < call.started <= block.started}
    return found
