"""What single trials have to say."""

import torch

from gradscope.functions.check import check_function
from gradscope.functions.trials.bench import Bench
from gradscope.functions.trials.precision import EXACT, HALF, SINGLE
from gradscope.model.finding import Severity
from gradscope.model.report import Status
from tests.functions.cases import choices
from tests.functions.corpus import base, everyday, libraries, realistic, subtle


def trials(function, **settings):
    return check_function(function, **settings).subjects[0].trials


def precision(function):
    from gradscope.functions.inputs.build import samples_from_data

    return Bench(function, samples_from_data(function.gradscope_inputs, "inputs")[0]).precision


def test_how_exactly_forward_computes_is_found_by_running_it():
    assert precision(base.Square) is EXACT
    assert precision(libraries.GeluInSinglePrecision) is SINGLE
    assert precision(choices.HalfInside) is HALF


def test_a_forward_in_half_precision_is_no_fault_and_a_wrong_gradient_of_it_is():
    right, wrong = (check_function(f, level="eager") for f in (choices.HalfInside, choices.HalfInsideAndWrong))
    assert [f.code for f in right.findings if f.severity is Severity.ERROR] == []
    assert [f.code for f in wrong.findings if f.severity is Severity.ERROR] == ["GS401"]


def test_what_single_precision_rules_out_is_said():
    report = check_function(libraries.GeluInSinglePrecision)
    assert any("gradgradcheck" in gap and "less than double precision" in gap for gap in report.subjects[0].not_checked)


def test_sparse_inputs_are_copied_and_left_dense_elsewhere():
    report = check_function(choices.SparseLeft, level="eager")
    assert [f.code for f in report.findings if f.severity is Severity.ERROR] == []
    assert "GS199" not in {f.code for f in report.findings}


def test_why_no_guess_is_taken_is_said():
    (gap,) = check_function(choices.NotBuilt).subjects[0].not_checked
    assert "forward takes no guess: ValueError: the kernel is not built;" in gap


def test_an_assertion_without_words_is_told_by_its_line():
    (gap,) = check_function(choices.Asserts).subjects[0].not_checked
    assert "forward takes no guess: AssertionError: assert x.dim() == 17;" in gap


def test_mark_dirty_is_tried_under_each_transform():
    detail = trials(choices.MarksDirty)["mark_dirty"].detail
    assert detail.startswith(f"torch {torch.__version__}: ok under grad, vjp, jacrev, vmap, vmap of grad, grad of vmap")
    assert detail.endswith("raises under jvp, jacfwd, hessian; raises on the transform's own input")


def test_mark_dirty_under_a_generated_rule_raises_under_vmap():
    found = trials(choices.MarksDirtyGenerated)
    assert "raises under jvp, jacfwd, hessian, vmap, vmap of grad, grad of vmap" in found["mark_dirty"].detail


def test_mark_dirty_of_functions_that_mark_nothing_is_not_applicable():
    assert trials(base.Square)["mark_dirty"].status is Status.NOT_APPLICABLE


def test_dead_wrappers_are_taken_as_values():
    assert trials(everyday.CachedWindow)["dead_wrapper"].status is Status.OK
    assert trials(realistic.ReluInPlace)["dead_wrapper"].status is Status.OK


def test_a_wrapper_kept_in_a_cache_raises_after_its_transform():
    assert "escaped" in trials(subtle.WrapperInCache)["dead_wrapper"].detail


def test_every_nesting_runs_on_a_function_with_all_rules():
    found = trials(base.Product)
    nested = ("grad_vmap", "vmap_grad", "jvp_grad", "hessian", "jacrev", "jacfwd", "grad_grad", "vmap_vmap")
    assert {found[name].status for name in (*nested, "grad_vmap_partial", "vmap_mixed")} == {Status.OK}


def test_clipping_is_by_design_and_says_so():
    found = trials(everyday.GradientClip)["eager_bwd"]
    assert (found.status, found.detail.partition(":")[0]) == (Status.WRONG, "by design")


def test_a_jvp_may_follow_the_custom_gradient():
    assert trials(everyday.StraightThroughBothWays)["jvp"].detail == "follows the custom gradient"


def test_functionalize_is_said_once():
    from gradscope.functions.check import Settings, check

    report = check([("Square", base.Square), ("Product", base.Product)], Settings())
    assert [f.function for f in report.findings if f.code == "GS330"] == ["Square"]
