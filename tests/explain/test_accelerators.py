"""On an accelerator the lines of NaN, Inf and odd gradients are named as on a CPU, and healthy runs are as silent."""

from pathlib import Path

import pytest

from gradscope.anomaly import explain
from gradscope.model.finding import Severity
from gradscope.store.reader import load
from tests.capture.side_by_side import SKIP_END, SideBySide
from tests.explain.corpus import Fault, faults, twin_of

TOPICS = ("magnitudes/", "nonfinite/")
VALUES = ("GS745",)  # told by single values that an operator is given, which are not read there
FOUND = [fault for fault in faults() if fault.name.startswith(TOPICS) and fault.marks[0].code not in VALUES]
LOOK_ALIKES = ("checkpointed", "gradient_penalty", "mixed_precision", "overflowing_scaler")
CLEARED = ("no_gradient/cleared_to_zeros",)  # whose twins' gradients are zeros, which the device knows
TWINS = [twin_of(one) for one in faults() if one.name.startswith("nonfinite/") or one.name in CLEARED]
HEALTHY = [*TWINS, *(Path(__file__).parent / "healthy" / f"{name}.py" for name in LOOK_ALIKES)]
CODES = {  # where less is known than on a CPU, where the same line has the code that comes second
    "magnitudes/rounded_weights": "GS735",  # that no gradient was ever other than zero is not read
    "magnitudes/sign_activation": "GS735",
    "nonfinite/division_in_the_dataset": "GS730",  # the batch is on the device from the start, and not the first
    "nonfinite/missing_values": "GS730",
    "nonfinite/gaps_masked_too_late": "GS731",  # the first product that is looked at
    "nonfinite/outages_left_to_the_mask": "GS731",  # the derivative of the loss
    "nonfinite/targets_masked_after_the_score": "GS731",
}
LATER = {  # lines: the operator that is looked at
    "nonfinite/missing_values": 1,
    "nonfinite/energy_in_half_precision": -1,  # products are looked at there: it is the one that overflows
    "nonfinite/empty_history": 1,  # the softmax: what its rows held is not read
    "nonfinite/fully_masked_attention": 1,
    "nonfinite/root_behind_where": 3,  # the division: nor what it divided by
    "nonfinite/room_without_a_sign": 20,  # the logarithm: nor of what
    "nonfinite/stored_without_a_sign": 16,
    "nonfinite/variance_of_readings": 1,  # the root: that its argument was negative is not read
    "nonfinite/eps_gone_in_half": 12,  # the step: what it divided by is not read, so neither is its eps
    "nonfinite/short_utterance": 7,  # the loss's call: what of it gave Inf is not known, so neither is its setting
    "nonfinite/lame_cows": -11,  # the first product: that NaN came in with the batch is not read
    "nonfinite/letters_not_read": -11,
    "nonfinite/normalised_beforehand": 4,  # where the batch is used: what was born steps earlier is not remembered
}


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """Trace a script as a user with an accelerator does, and explain its recording."""
    preloaded = ("torch._dynamo", "tests.explain.on_accelerator", "tests.capture.all_heard", SKIP_END)
    with SideBySide(tmp_path_factory.mktemp("far"), *preloaded, OMP_NUM_THREADS="1") as runs:

        def run(script: Path):
            _, path = runs.traced(script.parent, script)
            with load(path) as recording:
                assert recording.faults() == ()
                return explain(recording)

        yield run


@pytest.mark.parametrize("fault", FOUND, ids=lambda fault: fault.name)
def test_the_cause_is_named_first(fault: Fault, explained) -> None:
    mark = next(mark for mark in fault.marks if mark.role is None)
    first = explained(fault.script).findings[0]
    assert first.code == CODES.get(fault.name, mark.code)
    assert (first.site.file, first.site.line) == (mark.file, mark.line + LATER.get(fault.name, 0))


@pytest.mark.parametrize("script", HEALTHY, ids=lambda script: "/".join(script.parts[-3:]))
def test_nothing_is_found_in_a_healthy_run(script: Path, explained) -> None:
    assert explained(script).at_least(Severity.WARNING) == ()
