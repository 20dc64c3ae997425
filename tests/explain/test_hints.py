"""What is only a hint is not told of programs that mean it either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradscope.model.report import Report

HEALTHY = Path(__file__).parent / "healthy"
SILENT = {
    "GS721": ("derivatives_by_views_that_are_leaves.py",),
    "GS808": ("columns_meant_to_meet_more.py",),
    "GS753": ("hooks_among_limits.py", "hooks_that_update.py"),
    "GS749": ("searches_that_move_once.py",),
    "GS717": ("both_directions_read_to_their_ends.py",),
    "GS807": ("probabilities_made_sharper.py",),
    "GS817": ("adapters_sorted_out_of_a_model.py", "ends_sorted_by_where_they_lie.py"),
    "GS812": ("encoder_that_keeps_its_mode.py",),
    "GS809": ("warmup_cosine.py", "drops_early_on_purpose.py"),
    "GS883": ("densities_of_both_signs.py", "choice_that_stays_spread.py"),
    "GS884": ("deviations_and_their_logarithms.py",),
    "GS706": ("loop_names_read_again.py",),
    "GS886": ("models_moved_and_results_shown.py",),
    "GS889": ("hidden_before_and_behind.py", "best_experts_only.py"),
    "GS882": ("distance_field_of_points.py", "slopes_told_for_each_channel.py"),
    "GS894": ("dual_clipped_surrogate.py", "loss_that_is_cut_off.py"),
    "GS759": ("masks_that_hide_on_purpose.py",),
    "GS760": ("products_with_themselves.py",),
    "GS764": ("loss_that_leaps_with_the_task.py",),
    "GS895": ("outputs_that_are_doubled.py",),
    "GS739": ("short_memory_that_learns.py",),
    "GS881": ("likelihoods_weighed_by_a_gate.py", "joint_densities_and_what_is_missed.py"),
    "GS880": ("summed_at_a_low_rate.py", "summed_under_adam.py", "divided_and_not_learnable.py"),
    "GS827": ("samples_clipped_one_by_one.py",),
    "GS841": (
        "loss_of_an_evaluation.py",
        "losses_scaled_to_their_size.py",
        "adapted_tasks_summed.py",
        "softmaxes_over_rows.py",
        "sinkhorn_prototypes.py",
        "value_of_another_loss.py",
    ),
    "GS906": ("blocks_join_one_by_one.py",),
    "GS918": ("factors_left_out_on_purpose.py",),
    "GS917": ("frozen_replaced_and_meant.py",),
    "GS849": (
        "heads_on_one_encoder.py",
        "gan_discriminator_cleared.py",
        "alternating_optimizers.py",
        "judge_cleared_as_a_module.py",
        "features_step_each_sixth_batch.py",
    ),
    "GS843": (
        "weights_over_the_batch_and_a_mean.py",
        "softmaxes_over_rows.py",
        "sinkhorn_prototypes.py",
        "clip_infonce.py",
    ),
    "GS848": ("scales_of_all_kinds.py",),
    "GS854": ("attention_between_samples.py",),
    "GS855": (
        "scores_shifted_by_views.py",
        "data_as_it_lies_in_memory.py",
        "views_that_merge.py",
        "attention_between_samples.py",
    ),
    "GS856": ("dropout_meant_in_evaluation.py",),
    "GS857": ("loads_parts_of_a_state.py",),
    "GS758": ("scores_joined_as_they_are.py",),
    "GS850": ("norms_set_by_the_first_batch.py",),
    "GS858": ("padding_is_the_end.py",),
    "GS868": ("scores_pooled_behind_a_relu.py",),
    "GS865": ("averages_counted_anew.py",),
    "GS870": ("best_of_each_fold.py", "back_to_the_best.py"),
    "GS872": ("frozen_by_turns.py", "detached_weights_of_a_norm.py"),
    "GS873": ("reversed_under_clipping.py", "scaled_and_held_under_sgd.py"),
    "GS874": ("scaled_and_held_under_sgd.py", "held_without_decay.py"),
    "GS875": ("exponential_and_inverse_decays.py", "warmup_cosine.py", "rate_that_only_rises.py"),
    "GS876": ("rounds_straight_through.py",),
    "GS877": ("sparse_from_the_start.py",),
    "GS878": ("drops_early_on_purpose.py",),
    "GS844": ("words_dropped_by_hand.py", "constant_mask_forecast.py", "masked_autoencoder.py"),
    "GS898": ("lookahead_evaluated.py", "average_shown_by_memory.py"),
    "GS899": ("states_begun_anew.py",),
    "GS900": ("gradients_turned_and_back.py",),
    "GS707": ("tables_begun_alike.py",),
    "GS892": ("terms_for_a_critic.py", "gradients_of_a_critic_read.py"),
    "GS781": ("correction_of_a_later_stage.py",),
}


@pytest.mark.parametrize(("code", "name"), [(code, name) for code, names in SILENT.items() for name in names])
def test_a_program_that_means_it_gets_no_hint(code: str, name: str, explained: Callable[[Path], Report]) -> None:
    assert code not in {finding.code for finding in explained(HEALTHY / name).findings}
