"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain.kind import Kind

TABLE: tuple[Kind, ...] = ()
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
