"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain import growth, no_gradient, unused_input, waste
from gradscope.explain.kind import Kind
from gradscope.model.finding import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

TABLE: tuple[Kind, ...] = (
    Kind("GS721", "gradient-cut", ERROR, no_gradient.cut),
    Kind("GS722", "no-derivative", ERROR, no_gradient.no_derivative),
    Kind("GS723", "gradients-off", ERROR, no_gradient.mode_off),
    Kind("GS724", "cut-is-hidden", ERROR, no_gradient.hidden),
    Kind("GS720", "all-frozen", ERROR, no_gradient.frozen),
    Kind("GS729", "input-not-used", ERROR, unused_input.unused_input),
    Kind("GS728", "gradient-dropped", ERROR, no_gradient.dropped),
    Kind("GS727", "parameter-replaced", ERROR, no_gradient.replaced),
    Kind("GS725", "parameter-not-held", ERROR, no_gradient.not_held),
    Kind("GS726", "parameter-unused", WARNING, no_gradient.unused),
    Kind("GS741", "graph-grows", WARNING, growth.grows),
    Kind("GS743", "create-graph-cycle", WARNING, growth.cycles),
    Kind("GS744", "output-on-ctx", WARNING, growth.on_ctx),
    Kind("GS742", "graph-kept", WARNING, growth.kept),
    Kind("GS781", "gradient-thrown-away", INFO, waste.thrown_away),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
