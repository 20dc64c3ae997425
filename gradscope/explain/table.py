"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from dataclasses import replace

from gradscope.explain import (
    captured,
    checkpoints,
    exploding,
    growth,
    no_gradient,
    nonfinite,
    second_order,
    sizes,
    transforms,
    under_transforms,
    unused_input,
    waste,
)
from gradscope.explain.forbidden_edit import inplace_on_expanded, inplace_on_leaf, inplace_on_view
from gradscope.explain.function_inputs import kept_on_context, unmarked_edit
from gradscope.explain.function_returns import backward_returns
from gradscope.explain.hidden_edit import hidden_edit
from gradscope.explain.hook_edits import hook_edits_gradient, hook_edits_parameter
from gradscope.explain.hook_places import (
    gradient_before_hooks,
    hook_on_old_node,
    module_hook_and_inplace,
    module_hook_too_late,
)
from gradscope.explain.inplace import inplace_on_saved
from gradscope.explain.kind import Kind, Question
from gradscope.explain.second_backward import carried_over, graph_freed
from gradscope.functions.rules.table import RULES
from gradscope.model.finding import Severity

TABLE: tuple[Kind, ...] = (
    Kind("GS712", "state-carried-over", Severity.ERROR, carried_over, after=("GS725",)),
    Kind("GS711", "graph-freed", Severity.ERROR, graph_freed),
    Kind("GS761", "backward-returns", Severity.ERROR, backward_returns),
    Kind("GS762", "unmarked-edit", Severity.ERROR, unmarked_edit),
    Kind("GS763", "kept-on-context", Severity.WARNING, kept_on_context),
    Kind("GS701", "inplace-on-saved", Severity.ERROR, inplace_on_saved, after=("GS762",)),
    Kind("GS753", "hook-edits-parameter", Severity.ERROR, hook_edits_parameter),
    Kind("GS754", "module-hook-and-inplace", Severity.ERROR, module_hook_and_inplace),
    Kind("GS756", "hook-edits-gradient", Severity.WARNING, hook_edits_gradient, after=("GS753", "GS704")),
    Kind("GS755", "gradient-before-hooks", Severity.WARNING, gradient_before_hooks),
    Kind("GS752", "module-hook-too-late", Severity.WARNING, module_hook_too_late),
    Kind("GS751", "hook-on-old-node", Severity.WARNING, hook_on_old_node),
    Kind("GS702", "hidden-edit", Severity.ERROR, hidden_edit),
    Kind("GS703", "inplace-on-leaf", Severity.ERROR, inplace_on_leaf),
    Kind("GS704", "inplace-on-expanded", Severity.ERROR, inplace_on_expanded),
    Kind("GS705", "inplace-on-view", Severity.ERROR, inplace_on_view),
    Kind("GS737", "diverged", Severity.ERROR, sizes.diverged),
    Kind("GS730", "non-finite-forward", Severity.ERROR, nonfinite.non_finite_forward),
    Kind("GS731", "non-finite-derivative", Severity.ERROR, nonfinite.non_finite_derivative),
    Kind("GS770", "recomputation-differs", Severity.ERROR, checkpoints.recomputation_differs),
    Kind("GS771", "reentrant-without-grad", Severity.ERROR, checkpoints.reentrant_without_grad),
    Kind("GS774", "branch-under-vmap", Severity.ERROR, under_transforms.branch_under_vmap),
    Kind("GS775", "mutation-under-transform", Severity.ERROR, under_transforms.mutation_under_transform),
    Kind("GS776", "once-differentiable", Severity.ERROR, second_order.once_differentiable),
    Kind("GS772", "missing-create-graph", Severity.ERROR, second_order.missing_create_graph),
    Kind("GS773", "zero-second-derivative", Severity.WARNING, second_order.zero_second_derivative),
    Kind("GS732", "non-finite-input", Severity.ERROR, nonfinite.non_finite_input),
    Kind("GS733", "softmax-over-one", Severity.WARNING, sizes.softmax_over_one),
    Kind("GS734", "dead-relu", Severity.WARNING, sizes.dead_relu),
    Kind("GS735", "zero-gradient", Severity.WARNING, sizes.zero_gradient, after=("GS733", "GS722")),
    Kind("GS736", "vanishing-gradient", Severity.WARNING, sizes.vanishing_gradient),
    Kind("GS738", "exploding-gradient", Severity.WARNING, exploding.exploding_gradient, unless=("GS737",)),
    Kind("GS721", "gradient-cut", Severity.ERROR, no_gradient.cut, unless=("GS771", "GS772", "GS776")),
    Kind("GS722", "no-derivative", Severity.ERROR, no_gradient.no_derivative),
    Kind("GS723", "gradients-off", Severity.ERROR, no_gradient.mode_off, unless=("GS771",)),
    Kind("GS724", "cut-is-hidden", Severity.ERROR, no_gradient.hidden),
    Kind("GS720", "all-frozen", Severity.ERROR, no_gradient.frozen),
    Kind("GS729", "input-not-used", Severity.ERROR, unused_input.unused_input),
    Kind("GS728", "gradient-dropped", Severity.ERROR, no_gradient.dropped),
    Kind("GS727", "parameter-replaced", Severity.ERROR, no_gradient.replaced, points=False),
    Kind("GS725", "parameter-not-held", Severity.ERROR, no_gradient.not_held, points=False),
    Kind("GS726", "parameter-unused", Severity.WARNING, no_gradient.unused, unless=("GS771",)),
    Kind("GS741", "graph-grows", Severity.WARNING, growth.grows),
    Kind("GS743", "create-graph-cycle", Severity.WARNING, growth.cycles),
    Kind("GS744", "output-on-ctx", Severity.WARNING, growth.on_ctx),
    Kind("GS742", "graph-kept", Severity.WARNING, growth.kept),
    Kind("GS781", "gradient-thrown-away", Severity.INFO, waste.thrown_away, points=False),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}


def _of_rule(code: str, question: Question) -> Kind:
    """What a rule of check-function flags, met at run time: it has the rule's code, name and page."""
    rule = RULES[code]
    return Kind(code, rule.name, rule.severity, question, advises=rule.section("Do instead"))


MET_AT_RUN_TIME = (
    _of_rule("GS221", captured.captured_tensor),
    _of_rule("GS110", transforms.combined_forward),
    _of_rule("GS301", transforms.no_vmap),
    _of_rule("GS302", transforms.vmap_and_generated_vmap),
    _of_rule("GS303", transforms.vmap_returns),
    _of_rule("GS310", transforms.numpy_under_generated_vmap),
    _of_rule("GS320", transforms.no_jvp),
    _of_rule("GS213", transforms.dirty_with_generated_vmap),
    replace(_of_rule("GS311", transforms.inplace_on_unbatched), after=("GS775",)),
    _of_rule("GS312", transforms.random_under_vmap),
    _of_rule("GS330", transforms.functionalize),
)
QUESTIONS = (*TABLE, *MET_AT_RUN_TIME)
POINTING = tuple(kind for kind in QUESTIONS if kind.points)
