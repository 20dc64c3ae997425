"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain import no_gradient
from gradscope.explain.kind import Kind
from gradscope.model.finding import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

TABLE: tuple[Kind, ...] = (
    Kind("GS721", "gradient-cut", ERROR, no_gradient.cut),
    Kind("GS722", "no-derivative", ERROR, no_gradient.no_derivative),
    Kind("GS723", "gradients-off", ERROR, no_gradient.mode_off),
    Kind("GS724", "cut-is-hidden", ERROR, no_gradient.hidden),
    Kind("GS720", "all-frozen", ERROR, no_gradient.frozen),
    Kind("GS728", "gradient-dropped", ERROR, no_gradient.dropped),
    Kind("GS727", "parameter-replaced", ERROR, no_gradient.replaced),
    Kind("GS725", "parameter-not-held", ERROR, no_gradient.not_held),
    Kind("GS726", "parameter-unused", WARNING, no_gradient.unused),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
