"""Births on an accelerator are told from numbers that come later: nothing waits for them, and no mask is an alarm."""

import pytest
import torch

import gradscope
from gradscope.anomaly import explain
from gradscope.probes.nonfinite import device_readback
from gradscope.probes.tensors import accelerators
from gradscope.store.reader import load
from tests.accelerator import DEVICE, on_host, pretend
from tests.probes.training import train_with_dropout


@pytest.fixture
def far(monkeypatch):
    pretend(monkeypatch.setattr)
    return DEVICE


def logarithm():
    x = torch.tensor([1.0, 0.0, 4.0], requires_grad=True)
    torch.log(x).sum().backward()


def root():
    x = torch.zeros(3, requires_grad=True)
    x.sqrt().sum().backward()


def untaken_branch():
    x = torch.tensor([200.0, 1.0], requires_grad=True)
    torch.where(x > 20, x, x.exp()).sum().backward()


def root_in_a_branch():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    torch.where(x > 0.5, x.sqrt(), x).sum().backward()


def masked_row():
    x = torch.randn(3, 3, requires_grad=True)
    torch.softmax(x.masked_fill(torch.ones(3, 3, dtype=torch.bool), float("-inf")), -1).square().sum().backward()


def mean_of_nothing():
    x = torch.randn(3, requires_grad=True)
    x[x > 100].mean().backward()


def logarithm_beside_a_mask():
    x = torch.zeros(3, 3, requires_grad=True)
    mask = torch.full((3, 3), float("-inf")).triu(1)
    (torch.softmax(x + mask, -1) + torch.log(x + 0.0)).sum().backward()


def parameter_not_initialised():
    x = torch.full((3,), float("nan"), requires_grad=True)
    (torch.ones(3) * x + 1).sum().backward()


FAULTS = (
    logarithm,
    root,
    untaken_branch,
    root_in_a_branch,
    masked_row,
    mean_of_nothing,
    logarithm_beside_a_mask,
    parameter_not_initialised,
)


def told(recording):
    """What a recording tells of its first birth and of what was reached."""
    first, arrivals = recording.births()[0], recording.arrivals()
    place = (first.op, first.site, first.entered, first.argument, first.backward, first.node, first.masked)
    return place, arrivals[0].birth == first.number, [one.leaf for one in arrivals]


@pytest.mark.parametrize("step", FAULTS, ids=lambda step: step.__name__)
def test_in_the_first_step_it_is_told_as_on_a_cpu(recorded, step, monkeypatch):
    def run():
        torch.manual_seed(0)
        step()

    with recorded(run) as recording:
        near = told(recording)
    pretend(monkeypatch.setattr)
    with recorded(run) as recording:
        assert told(recording) == near
        assert recording.faults() == ()


def test_the_finding_names_the_device_and_is_likely(recorded, far):
    with recorded(logarithm) as recording:
        finding = explain(recording).findings[0]
        assert (finding.code, finding.confidence.value) == ("GS730", "likely")
        assert "log gave Inf on cpu" in finding.message
        assert finding.site.source == "torch.log(x).sum().backward()"


def attend(mask):
    x = torch.randn(3, 3, requires_grad=True)
    torch.softmax((x + mask) * 0.5, -1).square().sum().backward()


def test_masks_leave_nothing(recorded, far):
    mask = torch.full((3, 3), float("-inf")).triu(1)

    def steps():
        for _ in range(4):
            attend(mask)

    with recorded(steps) as recording:
        assert recording.births() == recording.arrivals() == ()
        assert explain(recording).findings == ()


def test_a_mask_is_not_to_blame_for_what_goes_wrong_beside_it_later(recorded, far):
    """In a step that is not looked at closely the mask's Inf is the first one seen; it did no harm before."""
    mask = torch.full((3, 3), float("-inf")).triu(1)

    def steps():
        for number in range(5):
            x = torch.ones(3, 3, requires_grad=True)
            attention = torch.softmax((x + mask) * 0.5, -1)
            (attention.square() + torch.log(x * (number < 4))).sum().backward()

    with recorded(steps) as recording:
        assert [one.op for one in recording.births()][:1] == ["aten.log.default"]
        assert recording.arrivals()[0].backward == 4


def test_large_numbers_of_half_precision_are_finite(recorded, far):
    """Their sum is not."""

    def step():
        x = torch.full((64,), 6e4, dtype=torch.float16, requires_grad=True)
        (x * 1.0).max().backward()

    with recorded(step) as recording:
        assert recording.births() == recording.arrivals() == ()


def test_a_batch_that_comes_in_with_a_nan_is_told_in_any_step(recorded, far):
    batches = [on_host(torch.ones(3)) for _ in range(4)]
    batches[3][1] = float("nan")

    def train():
        weight = torch.ones(3, requires_grad=True)
        for batch in batches:
            x = batch.to(torch.float32, copy=True)
            (weight * x).sum().backward()

    with recorded(train) as recording:
        finding = explain(recording).findings[0]
        assert (finding.code, finding.site.source) == ("GS732", "x = batch.to(torch.float32, copy=True)")
        assert "the argument self of _to_copy holds NaN" in finding.message


@pytest.mark.parametrize("step_of_zero", [0, 5])
def test_the_division_of_a_step_on_lists_is_told_and_no_operator_after_it(recorded, far, step_of_zero):
    def train():
        weights = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
        optimizer = torch.optim.Adam(weights, lr=0.1, foreach=True, eps=0.0, betas=(0.0, 0.0))
        for step in range(step_of_zero + 2):
            optimizer.zero_grad()
            (weights[0].square().mean() + weights[1].mean() * float(step != step_of_zero)).backward()
            optimizer.step()

    with recorded(train) as recording:
        birth = recording.births()[0]
        assert birth.op == "aten._foreach_addcdiv_.ScalarList"
        assert recording.arrivals()[0].birth == birth.number
        assert recording.faults() == ()


def test_a_gradient_that_no_look_explains_is_told_by_its_layer(recorded, far):
    """A product overflows in a step in which products are not looked at."""

    def train():
        weights = [torch.full((2, 2), value).requires_grad_() for value in (1.0, 1e-30)]
        for number in range(3):
            y = torch.full((2, 2), 1e25) @ weights[0]
            y = y @ weights[1]
            (y.sum() * (1e15 if number == 2 else 1.0)).backward()

    with recorded(train) as recording:
        assert recording.births() == ()
        finding = explain(recording).findings[0]
        assert (finding.code, finding.confidence.value, finding.backward) == ("GS731", "likely", 2)
        assert finding.site.source == "y = y @ weights[1]"


def test_what_was_born_on_the_host_is_followed_to_the_device(recorded, far):
    far.host_shape = (7,)

    def step():
        quotient = torch.zeros(7) / torch.zeros(7)
        x = torch.ones(2, 7).copy_(quotient)
        (torch.ones(2, 7, requires_grad=True) * x).sum().backward()

    with recorded(step) as recording:
        finding = explain(recording).findings[0]
        assert finding.site.source == "quotient = torch.zeros(7) / torch.zeros(7)"
        assert "0 / 0 is nan" in finding.message


def test_a_value_that_is_copied_to_the_host_comes_from_the_device(recorded, far):
    copies = []

    def step():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        copies.append(on_host(torch.empty(2)))
        copies[0].copy_(torch.log(x).detach())
        (x * on_host(copies[0])).sum().backward()

    with recorded(step) as recording:
        assert recording.births()[0].op == "aten.log.default"


def test_nothing_is_read_before_the_device_says_so(recorded, far, monkeypatch):
    reads = []
    take = device_readback.Readback.take
    monkeypatch.setattr(
        device_readback.Readback, "take", lambda lane, *rest: reads.append(len(lane.sent)) or take(lane, *rest)
    )

    def train():
        far.late = True
        for step in (logarithm, root, root, root):
            step()
        assert not any(reads)
        assert far.copies == 1
        far.late = False

    with recorded(train) as recording:
        assert recording.births()[0].op == "aten.log.default"
        assert [one.backward for one in recording.arrivals()] == [0, 0, 1, 2, 3]


def test_a_device_that_hangs_does_not_hang_the_program(recorded, far, monkeypatch):
    monkeypatch.setattr(device_readback, "_LONGEST", 0.0)

    def step():
        logarithm()
        far.late = True

    with recorded(step) as recording:
        assert "TimeoutError: the device did not finish" in recording.faults()[0].message


def test_when_all_slots_are_taken_they_are_sent_on(recorded, far, monkeypatch):
    monkeypatch.setattr(device_readback, "SLOTS", 32)

    def step():
        x = torch.ones(3, requires_grad=True)
        y = x
        for _ in range(50):
            y = y * 1.0
        torch.log(y - 1).sum().backward()

    with recorded(step) as recording:
        assert recording.births()[0].op == "aten.log.default"
        assert far.copies > 1


def test_other_streams_and_graphs_that_are_captured_are_left_alone(recorded, far):
    def step():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        far.capturing = True
        torch.log(x)
        far.capturing = False
        torch.exp(x)
        far.stream = 1
        torch.log(x)
        far.stream = 0

    with recorded(step) as recording:
        assert recording.births() == ()
        assert far.copies == 1


def test_looking_changes_no_bit_and_no_random_number(recorded, far):
    plain = train_with_dropout()
    seen = []
    recorded(lambda: seen.extend(train_with_dropout())).close()
    assert all(torch.equal(one, other) for one, other in zip(plain, seen, strict=True))


def test_a_program_that_stops_over_it_is_explained(far, tmp_path):
    def step():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        loss = torch.log(x).sum()
        if not torch.isfinite(loss):
            raise ValueError("the loss is not finite")

    with pytest.raises(ValueError, match="finite"), gradscope.record(tmp_path / "run.gscope"):
        step()
    with load(tmp_path / "run.gscope") as recording:
        assert explain(recording).findings[0].site.source == "loss = torch.log(x).sum()"


def test_sizes_are_as_on_a_cpu(recorded, monkeypatch):
    def train():
        weight = torch.arange(4.0).requires_grad_()
        for _ in range(5):
            (weight * weight).sum().backward()

    with recorded(train) as recording:
        near = recording.sizes()
    pretend(monkeypatch.setattr)
    with recorded(train) as recording:
        assert recording.sizes() == near


def test_a_device_that_fails_costs_the_looks_only(recorded, far, monkeypatch):
    def fails(*arguments):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(accelerators, "room_on", fails)

    def train():
        for _ in range(10):
            logarithm()

    with recorded(train) as recording:
        assert {fault.probe for fault in recording.faults()} == {"accelerators"}
        assert "switched off" in recording.faults()[-1].message
        assert len(recording.backwards()) == 10


def test_numbers_are_asked_for_under_transforms(far, tmp_path):
    """A transform of torch.func refuses that what it did not make is written to: our slots are none of its tensors."""

    def loss(weight, x):
        return (weight * x).square().sum()

    def run():
        for _ in range(4):
            torch.func.vmap(torch.func.grad(loss), (None, 0))(torch.ones(3), torch.randn(5, 3))
            torch.func.jacrev(torch.func.grad(loss))(torch.ones(3), torch.randn(3))

    with gradscope.record(tmp_path / "run.gscope", detail="full"):
        run()
    with load(str(tmp_path / "run.gscope")) as recording:
        assert recording.faults() == ()
