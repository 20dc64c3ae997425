"""Where NaN and Inf are born is seen as operators run; a healthy run leaves nothing behind."""

import pytest
import torch

from gradscope.probes.nonfinite.operator_risk import ALWAYS, CLOSELY, FORWARD, NEVER, look_of
from tests.probes.training import train_with_dropout


def test_a_birth_tells_the_values_that_did_it(recorded):
    def step():
        x = torch.tensor([1.0, 0.0, 4.0], requires_grad=True)
        torch.log(x).sum().backward()

    with recorded(step) as recording:
        birth = recording.births()[0]
        assert (birth.op, birth.index, birth.value, birth.inf) == ("aten.log.default", (1,), float("-inf"), 1)
        assert birth.argument_named("self").value == 0.0
        loss = recording.arrivals()[0]
        assert (loss.leaf, loss.birth) == (None, birth.number)
        assert recording.faults() == ()


def test_in_a_backward_the_node_is_known(recorded):
    def step():
        x = torch.zeros(3, requires_grad=True)
        x.sqrt().sum().backward()

    with recorded(step) as recording:
        birth = recording.births()[0]
        assert recording.graph(birth.backward).nodes[birth.node].name == "SqrtBackward0"


def test_a_mask_of_infinities_leaves_nothing(recorded):
    def step():
        x = torch.randn(3, 3, requires_grad=True)
        keep = torch.ones(3, 3).tril().bool()
        torch.softmax(x.masked_fill(~keep, float("-inf")), -1).square().sum().backward()

    with recorded(step) as recording:
        assert recording.births() == recording.arrivals() == ()


def test_what_hides_a_birth_is_noted(recorded):
    def step():
        x = torch.tensor([200.0, 1.0], requires_grad=True)
        torch.where(x > 20, x, x.exp()).sum().backward()

    with recorded(step) as recording:
        assert recording.births()[0].masked == "aten.where.self"
        assert [arrival.leaf for arrival in recording.arrivals()] == ["leaf"]


@pytest.mark.parametrize("step_of_zero", [0, 5])
def test_the_division_of_a_step_on_lists_is_told_with_its_values(recorded, step_of_zero):
    """The second parameter's gradient is 0, and so is its root, with an eps of 0: at any step."""

    def train():
        weights = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
        optimizer = torch.optim.Adam(weights, lr=0.1, foreach=True, eps=0.0, betas=(0.0, 0.0))
        for step in range(step_of_zero + 2):
            optimizer.zero_grad()
            (weights[0].sum() + weights[1].sum() * float(step != step_of_zero)).backward()
            optimizer.step()

    with recorded(train) as recording:
        birth = recording.births()[0]
        assert (birth.op, birth.shape, birth.nan) == ("aten._foreach_addcdiv_.ScalarList", (3,), 3)
        assert birth.argument_named("tensor2").value == 0.0
        assert recording.faults() == ()


def test_a_weight_that_held_a_nan_came_in_with_it_however_it_is_turned(recorded):
    """No operator wrote it, and addmm keeps only the batch."""
    model = torch.nn.Linear(3, 2)

    def train():
        for step in range(5):
            if step == 3:
                model.weight.detach().numpy()[0, 0] = float("nan")
            model(torch.ones(4, 3)).square().sum().backward()

    with recorded(train) as recording:
        birth = recording.births()[0]
        assert (birth.entered, birth.argument) == (True, "weight")


def test_looking_changes_no_bit_and_no_random_number(recorded):
    plain = train_with_dropout()
    seen = []
    recorded(lambda: seen.extend(train_with_dropout())).close()
    assert all(torch.equal(one, other) for one, other in zip(plain, seen, strict=True))


@pytest.mark.parametrize(
    ("operator", "look"),
    [
        (torch.ops.aten.view.default, NEVER),
        (torch.ops.aten.empty.memory_format, NEVER),
        (torch.ops.aten.relu.default, CLOSELY),
        (torch.ops.aten.mean.default, FORWARD),
        (torch.ops.aten.div.Tensor, ALWAYS),
        (torch.ops.aten._foreach_addcdiv_.ScalarList, FORWARD),
    ],
    ids=str,
)
def test_operators_are_looked_at_by_what_they_can_do(operator, look):
    assert look_of(operator) == look


def test_sizes_are_measured_in_the_steps_that_are_powers_of_two(recorded):
    def train():
        weight = torch.ones(4, requires_grad=True)
        for _ in range(7):
            (weight * 2).sum().backward()

    with recorded(train) as recording:
        assert [size.backward for size in recording.sizes()] == [0, 1, 2, 4]
        assert recording.sizes()[0].gradient == pytest.approx(4.0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # the first use of forward mode warns
def test_a_tensor_without_memory_is_not_looked_into(recorded):
    """Forward mode makes tensors of zeros that have no memory: a sum over one would end the process."""
    tangents = []

    def step():
        with torch.autograd.forward_ad.dual_level():
            x = torch.autograd.forward_ad.make_dual(torch.ones(3), torch._efficientzerotensor((3,)))
            tangents.append(torch.autograd.forward_ad.unpack_dual(x / x + x.log()).tangent)

    with recorded(step) as recording:
        assert recording.faults() == ()
    assert torch.equal(tangents[0], torch.zeros(3))
