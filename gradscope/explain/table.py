"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain.forbidden_edit import inplace_on_expanded, inplace_on_leaf, inplace_on_view
from gradscope.explain.hidden_edit import hidden_edit
from gradscope.explain.inplace import inplace_on_saved
from gradscope.explain.kind import Kind
from gradscope.explain.second_backward import carried_over, graph_freed
from gradscope.model.finding import Severity

TABLE: tuple[Kind, ...] = (
    Kind("GS712", "state-carried-over", Severity.ERROR, carried_over),
    Kind("GS711", "graph-freed", Severity.ERROR, graph_freed),
    Kind("GS701", "inplace-on-saved", Severity.ERROR, inplace_on_saved),
    Kind("GS702", "hidden-edit", Severity.ERROR, hidden_edit),
    Kind("GS703", "inplace-on-leaf", Severity.ERROR, inplace_on_leaf),
    Kind("GS704", "inplace-on-expanded", Severity.ERROR, inplace_on_expanded),
    Kind("GS705", "inplace-on-view", Severity.ERROR, inplace_on_view),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
