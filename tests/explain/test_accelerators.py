"""On an accelerator the lines of NaN, Inf and odd gradients are named as on a CPU, and healthy runs are as silent."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradscope.anomaly import explain
from gradscope.model.finding import Severity
from gradscope.store.reader import load
from tests.capture.side_by_side import SKIP_END, SideBySide
from tests.explain.corpus import Fault, Mark, faults, twin_of
from tests.explain.reads_values import kinds_that_read

TOPICS = ("magnitudes/", "nonfinite/")
VALUES = ("GS745",)  # told by single values that an operator is given, which are not read there
OF_A_KIND = 3  # of the kinds that read values: all faults take long, and are asked where there is a device


def first(fault: Fault) -> Mark:
    """What must be named first."""
    return next(mark for mark in fault.marks if mark.role is None)


def few(found: list[Fault]) -> Iterator[Fault]:
    """Some faults of each kind that reads values, and all of the topics that are nothing but values."""
    seen, reading = Counter[str](), kinds_that_read()
    for fault in found:
        code = first(fault).code
        seen[code] += 1
        if fault.name.startswith(TOPICS) or (code in reading and seen[code] <= OF_A_KIND):
            yield fault


FOUND = [fault for fault in faults() if first(fault).code not in VALUES]
FEW = list(few(FOUND))
LOOK_ALIKES = ("checkpointed", "gradient_penalty", "mixed_precision", "overflowing_scaler", "fused_step_of_a_scaler")
CLEARED = ("no_gradient/cleared_to_zeros",)  # whose twins' gradients are zeros, which the device knows
STEPPED = kinds_that_read(frozenset({"updates"}))
STILL = [*CLEARED, *(one.name for one in FOUND if one.name.startswith("nonfinite/") or first(one).code in STEPPED)]
TWINS = [twin_of(one) for one in faults() if one.name in STILL]
HEALTHY = [*TWINS, *(Path(__file__).parent / "healthy" / f"{name}.py" for name in LOOK_ALIKES)]
CODES = {  # where less is known than on a CPU, where the same line has the code that comes second
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


@pytest.mark.parametrize("fault", FEW, ids=lambda fault: fault.name)
def test_the_cause_is_named_first(fault: Fault, explained) -> None:
    mark, found = first(fault), explained(fault.script).findings[0]
    assert found.code == CODES.get(fault.name, mark.code)
    assert (found.site.file, found.site.line) == (mark.file, mark.line + LATER.get(fault.name, 0))


@pytest.mark.parametrize("script", HEALTHY, ids=lambda script: "/".join(script.parts[-3:]))
def test_nothing_is_found_in_a_healthy_run(script: Path, explained) -> None:
    assert explained(script).at_least(Severity.WARNING) == ()


THROWN = '''"""Now and then a look at a large sum leaves gradients, and the next step throws the weights away."""

import torch

torch.manual_seed({seed})
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def look():
    model(1e6 * torch.ones(1, 4)).sum().backward()


def train():
    for step in range(120):
        model(torch.randn(6, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 36 == 35:
            look()


train()
'''


@pytest.mark.parametrize("seed", [0, 1], ids=["NaN", "Inf"])
def test_the_product_of_weights_that_were_thrown_away_is_not_to_blame(explained, tmp_path, seed: int) -> None:
    script = tmp_path / "thrown.py"
    script.write_text(THROWN.format(seed=seed))
    assert [one.code for one in explained(script).at_least(Severity.WARNING)] == ["GS849"]
