"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain.forbidden_edit import inplace_on_expanded, inplace_on_leaf, inplace_on_view
from gradscope.explain.function_inputs import kept_on_context, unmarked_edit
from gradscope.explain.function_returns import backward_returns
from gradscope.explain.function_transforms import dirty_under_vmap, no_setup_context
from gradscope.explain.hidden_edit import hidden_edit
from gradscope.explain.inplace import inplace_on_saved
from gradscope.explain.kind import Kind
from gradscope.explain.second_backward import carried_over, graph_freed
from gradscope.model.finding import Severity

TABLE: tuple[Kind, ...] = (
    Kind("GS712", "state-carried-over", Severity.ERROR, carried_over),
    Kind("GS711", "graph-freed", Severity.ERROR, graph_freed),
    Kind("GS761", "backward-returns", Severity.ERROR, backward_returns),
    Kind("GS764", "no-setup-context", Severity.ERROR, no_setup_context),
    Kind("GS765", "dirty-under-vmap", Severity.ERROR, dirty_under_vmap),
    Kind("GS762", "unmarked-edit", Severity.ERROR, unmarked_edit),
    Kind("GS763", "kept-on-context", Severity.WARNING, kept_on_context),
    Kind("GS701", "inplace-on-saved", Severity.ERROR, inplace_on_saved, after=("GS762",)),
    Kind("GS702", "hidden-edit", Severity.ERROR, hidden_edit),
    Kind("GS703", "inplace-on-leaf", Severity.ERROR, inplace_on_leaf),
    Kind("GS704", "inplace-on-expanded", Severity.ERROR, inplace_on_expanded),
    Kind("GS705", "inplace-on-view", Severity.ERROR, inplace_on_view),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
