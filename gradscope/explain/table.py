"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain.inplace import inplace_on_saved
from gradscope.explain.kind import Kind
from gradscope.model.finding import Severity

TABLE: tuple[Kind, ...] = (Kind("GS701", "inplace-on-saved", Severity.ERROR, inplace_on_saved),)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
