"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain import checkpoints, nonfinite, second_order, sizes, transforms
from gradscope.explain.kind import Kind
from gradscope.model.finding import Severity

TABLE: tuple[Kind, ...] = (
    Kind("GS737", "diverged", Severity.ERROR, sizes.diverged),
    Kind("GS730", "non-finite-forward", Severity.ERROR, nonfinite.non_finite_forward),
    Kind("GS731", "non-finite-derivative", Severity.ERROR, nonfinite.non_finite_derivative),
    Kind("GS770", "recomputation-differs", Severity.ERROR, checkpoints.recomputation_differs),
    Kind("GS771", "reentrant-without-grad", Severity.ERROR, checkpoints.reentrant_without_grad),
    Kind("GS774", "branch-under-vmap", Severity.ERROR, transforms.branch_under_vmap),
    Kind("GS775", "mutation-under-transform", Severity.ERROR, transforms.mutation_under_transform),
    Kind("GS776", "once-differentiable", Severity.ERROR, second_order.once_differentiable),
    Kind("GS772", "missing-create-graph", Severity.ERROR, second_order.missing_create_graph),
    Kind("GS773", "zero-second-derivative", Severity.WARNING, second_order.zero_second_derivative),
    Kind("GS732", "non-finite-input", Severity.ERROR, nonfinite.non_finite_input),
    Kind("GS733", "softmax-over-one", Severity.WARNING, sizes.softmax_over_one),
    Kind("GS734", "dead-relu", Severity.WARNING, sizes.dead_relu),
    Kind("GS735", "zero-gradient", Severity.WARNING, sizes.zero_gradient, after=("GS733",)),
    Kind("GS736", "vanishing-gradient", Severity.WARNING, sizes.vanishing_gradient),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}
