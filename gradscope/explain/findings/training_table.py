"""Kinds of faults that a training has beside the graph of a backward: its losses, steps, states and what it is given.

In the order in which they are looked for, as those of table.py, which has them all.
"""

from __future__ import annotations

from gradscope.explain.findings.cuts import estimators, left_out_terms
from gradscope.explain.findings.cuts.cut_in_loop import cut_in_loop
from gradscope.explain.findings.cuts.gathered_values import gathered_without_gradient
from gradscope.explain.findings.cuts.inner_steps import step_from_values
from gradscope.explain.findings.cuts.terms_of_others import term_trains_nothing
from gradscope.explain.findings.edits import shared_memory
from gradscope.explain.findings.edits.data_edited import data_edited
from gradscope.explain.findings.edits.loop_names import loop_name_rebound
from gradscope.explain.findings.edits.one_memory import one_memory
from gradscope.explain.findings.edits.parameter_over_data import parameter_over_data
from gradscope.explain.findings.edits.results_dropped import result_dropped
from gradscope.explain.findings.edits.updates_lost import updates_lost
from gradscope.explain.findings.edits.writes_to_computed import writes_to_computed
from gradscope.explain.findings.graphs.mixed_partials import mixed_partials
from gradscope.explain.findings.hooks import hooks_and_optimizers
from gradscope.explain.findings.kind import Kind
from gradscope.explain.findings.layers import wrong_dimension
from gradscope.explain.findings.layers.added_to_itself import added_to_itself
from gradscope.explain.findings.layers.attended_batch import attends_over_batch
from gradscope.explain.findings.layers.attention_masks import sees_the_future
from gradscope.explain.findings.layers.attention_scales import scale_turned_around
from gradscope.explain.findings.layers.copied_tables import copied_table
from gradscope.explain.findings.layers.half_at_its_start import half_at_its_start
from gradscope.explain.findings.layers.learned_in_name import learned_in_name
from gradscope.explain.findings.layers.lost_ties import lost_tie
from gradscope.explain.findings.layers.masked_weights import masked_weights
from gradscope.explain.findings.layers.repeated_modules import repeated_module
from gradscope.explain.findings.layers.same_parts import same_part_twice
from gradscope.explain.findings.layers.scrambled_heads import heads_scrambled
from gradscope.explain.findings.layers.scrambled_states import states_scrambled
from gradscope.explain.findings.layers.turned_dimensions import dimensions_turned
from gradscope.explain.findings.objectives import losses, masked_means
from gradscope.explain.findings.objectives.added_samples import batch_summed
from gradscope.explain.findings.objectives.advantages import advantage_with_gradient
from gradscope.explain.findings.objectives.cancelled_weights import weights_cancelled
from gradscope.explain.findings.objectives.centred_by_batch import centred_by_batch
from gradscope.explain.findings.objectives.compared_with_itself import compared_with_itself
from gradscope.explain.findings.objectives.densities import density_minimised, variance_as_deviation
from gradscope.explain.findings.objectives.masked_ends import end_is_padding
from gradscope.explain.findings.objectives.moved_by_multipliers import moved_by_a_multiplier
from gradscope.explain.findings.objectives.penalty_norms import norm_of_a_part
from gradscope.explain.findings.objectives.self_similarity import compared_with_themselves
from gradscope.explain.findings.objectives.surrogates import optimistic_surrogate
from gradscope.explain.findings.objectives.targets_outside import targets_outside
from gradscope.explain.findings.objectives.targets_with_gradient import target_with_gradient
from gradscope.explain.findings.objectives.temperatures import temperature_of_a_part
from gradscope.explain.findings.objectives.weighted_means import mean_weighted
from gradscope.explain.findings.own_functions.clamped_straight_through import clamped_straight_through
from gradscope.explain.findings.own_functions.factor_unread import factor_unread
from gradscope.explain.findings.refusals.arguments import argument_does_not_fit
from gradscope.explain.findings.refusals.last_batch import batch_of_one
from gradscope.explain.findings.refusals.layer_sizes import layer_does_not_fit
from gradscope.explain.findings.refusals.loss_targets import target_does_not_fit
from gradscope.explain.findings.refusals.misspelt import misspelt_attribute
from gradscope.explain.findings.refusals.misuse import refused_use
from gradscope.explain.findings.refusals.operator_shapes import shapes_do_not_fit
from gradscope.explain.findings.refusals.other_values import another_value
from gradscope.explain.findings.refusals.out_of_range import out_of_range
from gradscope.explain.findings.refusals.refused_loads import load_refused, state_does_not_fit
from gradscope.explain.findings.refusals.samples import samples_differ
from gradscope.explain.findings.refusals.unlike_shapes import odd_size_doubled, squeezed_batch
from gradscope.explain.findings.sizes.unbounded_scales import unbounded_scale
from gradscope.explain.findings.sizes.weights_behind_relu import weights_behind_relu
from gradscope.explain.findings.sizes.zero_factors import both_factors_zero
from gradscope.explain.findings.states import training_modes
from gradscope.explain.findings.states.average_left import average_left
from gradscope.explain.findings.states.averaged_buffers import average_without_buffers
from gradscope.explain.findings.states.batch_averages import forgets_batches
from gradscope.explain.findings.states.dropout_in_evaluation import dropout_in_evaluation
from gradscope.explain.findings.states.dropout_lost import dropout_lost
from gradscope.explain.findings.states.frozen_and_replaced import replaced_after_freeze
from gradscope.explain.findings.states.frozen_averages import frozen_averages_move
from gradscope.explain.findings.states.frozen_moves import frozen_weights_move
from gradscope.explain.findings.states.loaded_states import loads_nothing
from gradscope.explain.findings.states.resumed_in_part import resumed_in_part
from gradscope.explain.findings.states.spared_and_frozen import spared_and_frozen
from gradscope.explain.findings.states.thawed_with_the_rest import thawed_with_the_rest
from gradscope.explain.findings.steps import clipping, learning_rates, stale_weights, training_loop
from gradscope.explain.findings.steps.clips_another import clips_another
from gradscope.explain.findings.steps.closures import closure_derives_nothing
from gradscope.explain.findings.steps.cut_short import schedule_cut_short
from gradscope.explain.findings.steps.exhausted import iterator_exhausted
from gradscope.explain.findings.steps.gradients_of_another import left_by_another
from gradscope.explain.findings.steps.gradients_wiped import wiped_each_time
from gradscope.explain.findings.steps.made_anew import made_anew
from gradscope.explain.findings.steps.modules_not_held import module_not_held
from gradscope.explain.findings.steps.moves_away import moves_away
from gradscope.explain.findings.steps.plateaus import waits_for_a_score_to_fall
from gradscope.explain.findings.steps.same_parameters import same_parameters
from gradscope.explain.findings.steps.settings_of_others import setting_of_another
from gradscope.explain.findings.steps.stale_sums import stale_sum
from gradscope.explain.findings.steps.summed_batches import micro_batches_summed
from gradscope.explain.findings.steps.turned_twice import turned_twice
from gradscope.model.finding import Severity

# What torch refuses for these is told by them.
_EXPLAINED = ("GS311", "GS853", "GS837", "GS839", "GS713", "GS730", "GS731", "GS732", "GS737")

OF_TRAINING: tuple[Kind, ...] = (
    Kind("GS806", "added-twice", Severity.WARNING, losses.added_twice, points=False),
    Kind("GS801", "gradients-not-cleared", Severity.WARNING, training_loop.not_cleared, points=False),
    Kind("GS715", "stale-sum", Severity.WARNING, stale_sum, unless=("GS801",), points=False),
    Kind("GS802", "cleared-between", Severity.WARNING, training_loop.cleared_between, points=False),
    Kind("GS803", "evaluation-learns", Severity.WARNING, training_loop.evaluation_learns, points=False),
    Kind("GS804", "never-steps", Severity.WARNING, training_loop.never_steps, points=False),
    Kind("GS749", "closure-derives-nothing", Severity.WARNING, closure_derives_nothing, points=False),
    Kind("GS805", "rate-of-zero", Severity.WARNING, learning_rates.rate_of_zero, points=False),
    Kind("GS809", "rate-stays-low", Severity.INFO, learning_rates.rate_stays_low, points=False),
    Kind("GS810", "left-in-evaluation", Severity.WARNING, training_modes.left_in_evaluation, points=False),
    Kind("GS811", "validated-in-training", Severity.INFO, training_modes.validated_in_training_mode, points=False),
    Kind("GS856", "dropout-in-evaluation", Severity.INFO, dropout_in_evaluation, points=False),
    Kind("GS897", "dropout-lost", Severity.WARNING, dropout_lost, unless=("GS810",), points=False),
    Kind("GS898", "average-left", Severity.INFO, average_left, points=False),
    Kind("GS800", "setting-of-another", Severity.INFO, setting_of_another, points=False),
    Kind("GS857", "waits-for-a-fall", Severity.INFO, waits_for_a_score_to_fall, points=False),
    Kind("GS812", "thawed-by-train", Severity.INFO, training_modes.thawed_by_train, points=False),
    Kind("GS766", "thawed-with-the-rest", Severity.INFO, thawed_with_the_rest, points=False),
    Kind("GS865", "forgets-batches", Severity.INFO, forgets_batches, points=False),
    Kind("GS873", "factor-cancelled", Severity.INFO, hooks_and_optimizers.factor_cancelled, points=False),
    Kind("GS874", "decay-moves-frozen", Severity.INFO, hooks_and_optimizers.decay_moves_frozen, points=False),
    Kind("GS708", "frozen-weights-move", Severity.WARNING, frozen_weights_move, points=False),
    Kind("GS875", "schedule-cut-short", Severity.INFO, schedule_cut_short, unless=("GS805",), points=False),
    Kind("GS918", "factor-unread", Severity.INFO, factor_unread, points=False),
    Kind("GS876", "clamped-straight-through", Severity.INFO, clamped_straight_through, points=False),
    Kind("GS748", "wiped-each-time", Severity.INFO, wiped_each_time, points=False),
    Kind("GS893", "clips-another", Severity.WARNING, clips_another, points=False),
    Kind("GS890", "both-factors-zero", Severity.WARNING, both_factors_zero, unless=("GS734",), points=False),
    Kind("GS877", "weights-behind-relu", Severity.INFO, weights_behind_relu, unless=("GS734",), points=False),
    Kind("GS878", "one-memory", Severity.INFO, one_memory, points=False),
    Kind("GS880", "batches-summed", Severity.INFO, micro_batches_summed, unless=("GS737",), points=False),
    Kind("GS881", "advantage-with-gradient", Severity.INFO, advantage_with_gradient, points=False),
    Kind("GS700", "moved-by-a-multiplier", Severity.INFO, moved_by_a_multiplier, points=False),
    Kind("GS894", "optimistic-surrogate", Severity.INFO, optimistic_surrogate, points=False),
    Kind("GS895", "added-to-itself", Severity.INFO, added_to_itself, points=False),
    Kind("GS760", "compared-with-themselves", Severity.INFO, compared_with_themselves, points=False),
    Kind("GS764", "unbounded-scale", Severity.INFO, unbounded_scale, points=False),
    Kind("GS882", "norm-of-a-part", Severity.INFO, norm_of_a_part, points=False),
    Kind("GS883", "density-minimised", Severity.INFO, density_minimised, points=False),
    Kind("GS884", "variance-as-deviation", Severity.INFO, variance_as_deviation, points=False),
    Kind("GS885", "targets-outside", Severity.WARNING, targets_outside, points=False),
    Kind("GS706", "loop-name-rebound", Severity.INFO, loop_name_rebound, points=False),
    Kind("GS886", "result-dropped", Severity.INFO, result_dropped, unless=("GS712", "GS841"), points=False),
    Kind("GS887", "same-parameters", Severity.WARNING, same_parameters, points=False),
    Kind("GS907", "moves-away", Severity.WARNING, moves_away, points=False),
    Kind("GS900", "turned-twice", Severity.WARNING, turned_twice, points=False),
    Kind("GS906", "made-anew", Severity.INFO, made_anew, points=False),
    Kind("GS888", "data-edited", Severity.WARNING, data_edited, points=False),
    Kind("GS889", "masked-weights", Severity.INFO, masked_weights, points=False),
    Kind("GS896", "compared-with-itself", Severity.WARNING, compared_with_itself, unless=("GS723",), points=False),
    Kind("GS891", "batch-summed", Severity.WARNING, batch_summed, points=False),
    Kind("GS872", "frozen-averages-move", Severity.INFO, frozen_averages_move, unless=("GS812",), points=False),
    Kind("GS814", "batch-of-one", Severity.ERROR, batch_of_one, points=False),
    Kind("GS837", "squeezed-batch", Severity.ERROR, squeezed_batch, points=False),
    Kind("GS838", "odd-size-doubled", Severity.ERROR, odd_size_doubled, points=False),
    Kind("GS839", "samples-differ", Severity.ERROR, samples_differ, points=False),
    Kind("GS859", "load-refused", Severity.ERROR, load_refused, points=False),
    Kind("GS860", "state-does-not-fit", Severity.ERROR, state_does_not_fit, points=False),
    Kind("GS861", "layer-does-not-fit", Severity.ERROR, layer_does_not_fit, unless=("GS837", "GS838"), points=False),
    Kind("GS862", "target-does-not-fit", Severity.ERROR, target_does_not_fit, unless=_EXPLAINED, points=False),
    Kind("GS863", "refused-use", Severity.ERROR, refused_use, unless=_EXPLAINED, points=False),
    Kind(
        "GS864",
        "argument-does-not-fit",
        Severity.ERROR,
        argument_does_not_fit,
        unless=(*_EXPLAINED, "GS725", "GS862"),
        points=False,
    ),
    Kind("GS866", "another-value", Severity.ERROR, another_value, unless=_EXPLAINED, points=False),
    Kind(
        "GS867",
        "shapes-do-not-fit",
        Severity.ERROR,
        shapes_do_not_fit,
        unless=(*_EXPLAINED, "GS818", "GS838", "GS861"),
        points=False,
    ),
    Kind("GS818", "out-of-range", Severity.ERROR, out_of_range, points=False),
    Kind("GS813", "frozen-in-name", Severity.WARNING, training_modes.frozen_in_name, points=False),
    Kind("GS716", "spared-and-frozen", Severity.INFO, spared_and_frozen, points=False),
    Kind("GS917", "frozen-and-replaced", Severity.INFO, replaced_after_freeze, points=False),
    Kind("GS709", "learned-in-name", Severity.INFO, learned_in_name, points=False),
    Kind(
        "GS815",
        "thawed-not-held",
        Severity.WARNING,
        training_modes.thawed_not_held,
        unless=("GS725", "GS727"),
        points=False,
    ),
    Kind("GS817", "module-not-held", Severity.INFO, module_not_held, unless=("GS725", "GS727", "GS815"), points=False),
    Kind("GS816", "misspelt-attribute", Severity.WARNING, misspelt_attribute, points=False),
    Kind("GS820", "clipped-after-step", Severity.WARNING, clipping.clipped_after_step, points=False),
    Kind("GS821", "clipped-while-scaled", Severity.WARNING, clipping.clipped_while_scaled, points=False),
    Kind("GS827", "clipped-between", Severity.INFO, clipping.clipped_between, points=False),
    Kind("GS824", "clips-nothing", Severity.WARNING, clipping.clips_nothing, points=False),
    Kind("GS826", "iterator-exhausted", Severity.WARNING, iterator_exhausted, unless=("GS824",), points=False),
    Kind("GS822", "every-step-skipped", Severity.WARNING, clipping.every_step_skipped, points=False),
    Kind("GS823", "nothing-changes", Severity.WARNING, clipping.nothing_changes, unless=("GS805",), points=False),
    Kind("GS825", "stale-weights", Severity.WARNING, stale_weights.stale_weights, points=False),
    Kind("GS828", "writes-to-computed", Severity.WARNING, writes_to_computed, points=False),
    Kind("GS829", "parameter-over-data", Severity.WARNING, parameter_over_data, points=False),
    Kind("GS830", "loads-itself", Severity.WARNING, shared_memory.loads_itself, points=False),
    Kind("GS836", "loads-nothing", Severity.WARNING, loads_nothing, points=False),
    Kind("GS870", "resumed-in-part", Severity.INFO, resumed_in_part, points=False),
    Kind("GS831", "average-of-itself", Severity.WARNING, shared_memory.average_of_itself, points=False),
    Kind("GS834", "average-without-buffers", Severity.WARNING, average_without_buffers, points=False),
    Kind("GS835", "repeated-module", Severity.WARNING, repeated_module, points=False),
    Kind("GS833", "parted-by-load", Severity.WARNING, shared_memory.parted_by_load, points=False),
    Kind("GS832", "stepped-twice", Severity.WARNING, shared_memory.stepped_twice, points=False),
    Kind("GS785", "gathered-without-gradient", Severity.WARNING, gathered_without_gradient, points=False),
    Kind("GS840", "sample-without-gradient", Severity.WARNING, estimators.sample_without_gradient, points=False),
    Kind("GS841", "term-left-out", Severity.INFO, left_out_terms.term_left_out, points=False),
    Kind("GS842", "target-with-gradient", Severity.INFO, target_with_gradient, points=False),
    Kind("GS843", "softmax-over-batch", Severity.INFO, wrong_dimension.softmax_over_batch, points=False),
    Kind("GS750", "centred-by-batch", Severity.INFO, centred_by_batch, points=False),
    Kind("GS844", "mean-over-mask", Severity.INFO, masked_means.mean_over_mask, points=False),
    Kind("GS845", "labels-two-ahead", Severity.INFO, losses.labels_two_ahead, points=False),
    Kind("GS746", "mean-weighted", Severity.INFO, mean_weighted, points=False),
    Kind("GS747", "weights-cancelled", Severity.INFO, weights_cancelled, points=False),
    Kind("GS758", "temperature-of-a-part", Severity.INFO, temperature_of_a_part, points=False),
    Kind("GS858", "end-is-padding", Severity.INFO, end_is_padding, points=False),
    Kind("GS717", "half-at-its-start", Severity.INFO, half_at_its_start, points=False),
    Kind("GS718", "same-part-twice", Severity.INFO, same_part_twice, points=False),
    Kind("GS846", "sees-the-future", Severity.WARNING, sees_the_future, points=False),
    Kind("GS847", "heads-scrambled", Severity.WARNING, heads_scrambled, points=False),
    Kind("GS848", "scale-turned-around", Severity.INFO, scale_turned_around, points=False),
    Kind("GS854", "attends-over-batch", Severity.INFO, attends_over_batch, points=False),
    Kind("GS851", "states-scrambled", Severity.WARNING, states_scrambled, points=False),
    Kind("GS855", "dimensions-turned", Severity.INFO, dimensions_turned, after=("GS847", "GS851"), points=False),
    Kind("GS852", "updates-lost", Severity.WARNING, updates_lost, points=False),
    Kind("GS849", "left-by-another-loss", Severity.INFO, left_by_another, unless=("GS801",), points=False),
    Kind("GS850", "cut-in-loop", Severity.INFO, cut_in_loop, points=False),
    Kind("GS902", "step-from-values", Severity.WARNING, step_from_values, points=False),
    Kind("GS905", "mixed-partials", Severity.WARNING, mixed_partials, points=False),
    Kind("GS892", "term-trains-nothing", Severity.INFO, term_trains_nothing, points=False),
    Kind("GS707", "copied-table", Severity.INFO, copied_table, points=False),
    Kind("GS710", "tie-lost", Severity.WARNING, lost_tie, points=False),
)
