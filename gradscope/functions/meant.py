"""Why a gradient may differ from the formula's and be as its author means it."""

from __future__ import annotations

import enum


class Design(enum.Enum):
    """A reason for a gradient that differs, in words that follow "taken as meant: "."""

    NONE = ""
    STRAIGHT_THROUGH = "straight-through: forward is flat, backward passes the incoming gradient on"
    SURROGATE = "a surrogate: forward is flat or jumps where backward has a gradient"
    GIVEN_ON = "forward gives its input on as it is, backward changes the gradient"
    SYMMETRIC = "the gradient is right for symmetric matrices: forward reads one triangle, backward gives both"
    ESTIMATE = "an estimate: backward draws random numbers"
    SAMPLE = "the derivative of a sample: forward draws from a distribution, backward says how it moves"
    TANGENT = "a gradient in the tangent space of a manifold: its last coordinates are zero"
    GAUGE = "vectors whose span alone counts: the gradient is right for what does not depend on their choice"
    SAID = "the class itself says that its gradient is another one"

    @property
    def replaces(self) -> bool:
        """Whether the gradient stands in for the formula's, so that nothing can be compared with the formula."""
        return self not in (Design.NONE, Design.SYMMETRIC)

    @property
    def on_a_surface(self) -> bool:
        """Whether inputs or outputs only move on a surface: differences of the gradient leave it, and say nothing."""
        return self in (Design.TANGENT, Design.GAUGE)
