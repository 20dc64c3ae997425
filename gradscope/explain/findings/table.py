"""All kinds of faults, in the order in which they are looked for: when two fit equally well, the first is the cause."""

from __future__ import annotations

from dataclasses import replace

from gradscope.explain.findings.cuts import missing_gradient, unused_gradients
from gradscope.explain.findings.cuts.grad_is_none import grad_is_none
from gradscope.explain.findings.cuts.unheld_leaves import leaf_not_held
from gradscope.explain.findings.cuts.unused_input import unused_input
from gradscope.explain.findings.edits.inplace_hidden import hidden_edit
from gradscope.explain.findings.edits.inplace_on_saved import inplace_on_saved
from gradscope.explain.findings.edits.inplace_refused import inplace_on_expanded, inplace_on_leaf, inplace_on_view
from gradscope.explain.findings.graphs import retained_graphs, second_derivatives
from gradscope.explain.findings.graphs.copied_with_graph import copied_with_graph
from gradscope.explain.findings.graphs.history_kept import history_kept
from gradscope.explain.findings.graphs.mixed_dtypes import dtypes_differ
from gradscope.explain.findings.graphs.no_second_derivative import no_second_derivative
from gradscope.explain.findings.graphs.second_backward import carried_over, graph_freed
from gradscope.explain.findings.hooks.gradient_replaced import gradient_replaced
from gradscope.explain.findings.hooks.hook_edits import hook_edits_gradient
from gradscope.explain.findings.hooks.hook_edits_parameter import hook_edits_parameter
from gradscope.explain.findings.hooks.hook_piles import hooks_pile_up
from gradscope.explain.findings.hooks.hook_places import (
    gradient_before_hooks,
    hook_on_old_node,
    module_hook_and_inplace,
    module_hook_too_late,
)
from gradscope.explain.findings.kind import Kind, Question
from gradscope.explain.findings.layers.padding_masks import padding_attended
from gradscope.explain.findings.objectives import losses
from gradscope.explain.findings.own_functions import captured_tensor, function_gradient, function_state
from gradscope.explain.findings.own_functions.backward_of_module import backward_of_module
from gradscope.explain.findings.own_functions.function_backward import backward_returns
from gradscope.explain.findings.own_functions.function_forward import kept_on_context, unmarked_edit
from gradscope.explain.findings.own_functions.gradient_ignored import gradient_ignored
from gradscope.explain.findings.own_functions.gradient_summed import gradient_summed
from gradscope.explain.findings.own_functions.saved_intermediate import compute_in_setup_context, saved_intermediate
from gradscope.explain.findings.sizes import (
    divergence,
    exploding_gradient,
    gradient_magnitudes,
    gradient_through_time,
    nonfinite,
    over_one_element,
)
from gradscope.explain.findings.sizes.factorizations import not_factorised
from gradscope.explain.findings.sizes.gradient_leaps import gradient_leapt
from gradscope.explain.findings.sizes.gradients_gone import gradients_gone
from gradscope.explain.findings.states.loaded_states import state_of_others
from gradscope.explain.findings.steps import replaced_parameters
from gradscope.explain.findings.training_table import OF_TRAINING
from gradscope.explain.findings.transforms import (
    checkpoint_chance,
    checkpoints,
    closed_over,
    code_under_transforms,
    functions_under_transforms,
)
from gradscope.functions.rules.table import RULES
from gradscope.model.finding import Severity

TABLE: tuple[Kind, ...] = (
    Kind("GS853", "state-of-others", Severity.ERROR, state_of_others),
    Kind("GS712", "state-carried-over", Severity.ERROR, carried_over, after=("GS725",)),
    Kind("GS711", "graph-freed", Severity.ERROR, graph_freed),
    Kind("GS714", "copied-with-graph", Severity.ERROR, copied_with_graph),
    Kind("GS713", "dtypes-differ", Severity.ERROR, dtypes_differ),
    Kind("GS761", "backward-returns", Severity.ERROR, backward_returns),
    Kind("GS762", "unmarked-edit", Severity.ERROR, unmarked_edit),
    Kind("GS908", "backward-of-module", Severity.WARNING, backward_of_module, points=False),
    Kind("GS763", "kept-on-context", Severity.WARNING, kept_on_context),
    Kind("GS701", "inplace-on-saved", Severity.ERROR, inplace_on_saved, after=("GS762",)),
    Kind("GS753", "hook-edits-parameter", Severity.ERROR, hook_edits_parameter),
    Kind("GS909", "gradient-replaced", Severity.WARNING, gradient_replaced),
    Kind("GS754", "module-hook-and-inplace", Severity.ERROR, module_hook_and_inplace),
    Kind("GS756", "hook-edits-gradient", Severity.WARNING, hook_edits_gradient, after=("GS753", "GS704")),
    Kind("GS755", "gradient-before-hooks", Severity.WARNING, gradient_before_hooks),
    Kind("GS752", "module-hook-too-late", Severity.WARNING, module_hook_too_late),
    Kind("GS751", "hook-on-old-node", Severity.WARNING, hook_on_old_node),
    Kind("GS757", "hooks-pile-up", Severity.WARNING, hooks_pile_up, after=("GS756",)),
    Kind("GS702", "hidden-edit", Severity.ERROR, hidden_edit),
    Kind("GS703", "inplace-on-leaf", Severity.ERROR, inplace_on_leaf),
    Kind("GS704", "inplace-on-expanded", Severity.ERROR, inplace_on_expanded),
    Kind("GS705", "inplace-on-view", Severity.ERROR, inplace_on_view, unless=("GS762",)),
    Kind("GS739", "gradient-through-time", Severity.WARNING, gradient_through_time.through_time, symptom=True),
    Kind("GS745", "gradient-leapt", Severity.ERROR, gradient_leapt, after=("GS730", "GS731")),
    Kind("GS737", "diverged", Severity.ERROR, divergence.diverged, unless=("GS745", "GS820", "GS824")),
    Kind("GS759", "padding-attended", Severity.WARNING, padding_attended, points=False),
    Kind("GS730", "non-finite-forward", Severity.ERROR, nonfinite.non_finite_forward),
    Kind("GS731", "non-finite-derivative", Severity.ERROR, nonfinite.non_finite_derivative),
    Kind("GS740", "not-factorised", Severity.ERROR, not_factorised, unless=("GS730", "GS731", "GS732", "GS737")),
    Kind("GS770", "recomputation-differs", Severity.ERROR, checkpoints.recomputation_differs),
    Kind("GS778", "recomputed-with-other-chance", Severity.WARNING, checkpoint_chance.other_numbers),
    Kind("GS771", "reentrant-without-grad", Severity.ERROR, checkpoints.reentrant_without_grad),
    Kind("GS779", "reentrant-under-grad", Severity.ERROR, checkpoints.reentrant_under_grad),
    Kind("GS774", "branch-under-vmap", Severity.ERROR, code_under_transforms.branch_under_vmap),
    Kind("GS775", "mutation-under-transform", Severity.ERROR, code_under_transforms.mutation_under_transform),
    Kind("GS777", "closed-over", Severity.ERROR, closed_over.closed_over),
    Kind("GS776", "once-differentiable", Severity.ERROR, second_derivatives.once_differentiable),
    Kind("GS819", "no-second-derivative", Severity.ERROR, no_second_derivative),
    Kind("GS772", "missing-create-graph", Severity.ERROR, second_derivatives.missing_create_graph),
    Kind("GS773", "zero-second-derivative", Severity.WARNING, second_derivatives.zero_second_derivative),
    Kind("GS732", "non-finite-input", Severity.ERROR, nonfinite.non_finite_input),
    Kind("GS733", "softmax-over-one", Severity.WARNING, over_one_element.softmax_over_one),
    Kind(
        "GS734", "dead-relu", Severity.WARNING, gradient_magnitudes.dead_relu, symptom=True, unless=("GS737", "GS880")
    ),
    Kind(
        "GS735",
        "zero-gradient",
        Severity.WARNING,
        gradient_magnitudes.zero_gradient,
        after=("GS733", "GS722"),
        symptom=True,
    ),
    Kind(
        "GS871",
        "gradients-gone",
        Severity.WARNING,
        gradients_gone,
        unless=("GS734", "GS735", "GS737", "GS730", "GS731", "GS732"),
        symptom=True,
    ),
    Kind("GS736", "vanishing-gradient", Severity.WARNING, gradient_magnitudes.vanishing_gradient, symptom=True),
    Kind(
        "GS738",
        "exploding-gradient",
        Severity.WARNING,
        exploding_gradient.exploding_gradient,
        unless=("GS737",),
        symptom=True,
    ),
    Kind("GS719", "grad-is-none", Severity.ERROR, grad_is_none, unless=("GS720", "GS771", "GS772")),
    Kind("GS721", "gradient-cut", Severity.ERROR, missing_gradient.cut, unless=("GS771", "GS772", "GS776")),
    Kind("GS722", "no-derivative", Severity.ERROR, missing_gradient.no_derivative),
    Kind("GS723", "gradients-off", Severity.ERROR, missing_gradient.mode_off, unless=("GS771",)),
    Kind("GS724", "cut-is-hidden", Severity.ERROR, missing_gradient.hidden),
    Kind("GS720", "all-frozen", Severity.ERROR, missing_gradient.frozen),
    Kind("GS729", "input-not-used", Severity.ERROR, unused_input),
    Kind("GS728", "gradient-dropped", Severity.ERROR, missing_gradient.dropped),
    Kind("GS879", "leaf-not-held", Severity.WARNING, leaf_not_held, unless=("GS719",), points=False),
    Kind("GS727", "parameter-replaced", Severity.ERROR, replaced_parameters.replaced, points=False),
    Kind("GS725", "parameter-not-held", Severity.ERROR, missing_gradient.not_held, unless=("GS887",), points=False),
    Kind("GS869", "part-derived", Severity.WARNING, missing_gradient.part_derived, symptom=True),
    Kind("GS726", "parameter-unused", Severity.WARNING, missing_gradient.unused, unless=("GS771",), symptom=True),
    Kind("GS807", "softmax-twice", Severity.WARNING, losses.softmax_twice),
    Kind("GS868", "scores-cut-off", Severity.INFO, losses.scores_cut_off),
    Kind("GS808", "broadcast-loss", Severity.WARNING, losses.broadcast_loss),
    *OF_TRAINING,
    Kind("GS741", "graph-grows", Severity.WARNING, retained_graphs.grows),
    Kind("GS899", "history-kept", Severity.INFO, history_kept, unless=("GS742",), points=False),
    Kind("GS743", "create-graph-cycle", Severity.WARNING, retained_graphs.cycles),
    Kind("GS744", "output-on-ctx", Severity.WARNING, retained_graphs.on_ctx),
    Kind("GS742", "graph-kept", Severity.WARNING, retained_graphs.kept, unless=("GS712",)),
    Kind(
        "GS781",
        "gradient-thrown-away",
        Severity.INFO,
        unused_gradients.thrown_away,
        unless=("GS725", "GS727", "GS748", "GS802", "GS817", "GS892"),
        points=False,
    ),
)
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}


def _of_rule(code: str, question: Question) -> Kind:
    """What a rule of check-function flags, met at run time: it has the rule's code, name and page."""
    rule = RULES[code]
    return Kind(code, rule.name, rule.severity, question, advises=rule.section("Do instead"))


MET_AT_RUN_TIME = (
    _of_rule("GS228", function_state.state_on_class),
    _of_rule("GS408", function_gradient.shared_gradient_written),
    _of_rule("GS418", gradient_ignored),
    _of_rule("GS403", gradient_summed),
    _of_rule("GS205", saved_intermediate),
    _of_rule("GS207", compute_in_setup_context),
    _of_rule("GS221", captured_tensor.captured_tensor),
    _of_rule("GS110", functions_under_transforms.combined_forward),
    _of_rule("GS301", functions_under_transforms.no_vmap),
    _of_rule("GS302", functions_under_transforms.vmap_and_generated_vmap),
    _of_rule("GS303", functions_under_transforms.vmap_returns),
    _of_rule("GS310", functions_under_transforms.numpy_under_generated_vmap),
    _of_rule("GS320", functions_under_transforms.no_jvp),
    _of_rule("GS213", functions_under_transforms.dirty_with_generated_vmap),
    replace(_of_rule("GS311", functions_under_transforms.inplace_on_unbatched), unless=("GS775",)),
    _of_rule("GS312", functions_under_transforms.random_under_vmap),
    _of_rule("GS330", functions_under_transforms.functionalize),
)
QUESTIONS = (*TABLE, *MET_AT_RUN_TIME)
POINTING = tuple(kind for kind in QUESTIONS if kind.points)
