"""Operators that give the same numbers another form: what a way through the dataflow may look past.

The surprise: `reshape` is recorded as a view, as _unsafe_view or as _reshape_alias, by what torch made of it.
"""

from __future__ import annotations

RESHAPES = ("view", "_unsafe_view", "_reshape_alias", "reshape")  # the same memory in another shape
WIDENED = (*RESHAPES, "unsqueeze", "squeeze", "expand")  # with dimensions of one element more or less, or repeated
FORMS = (*WIDENED, "transpose", "t", "permute")  # with the dimensions in another order
COPIES = ("clone", "_to_copy", "contiguous", "alias", "detach")  # the same form, in other memory or for nobody's graph
