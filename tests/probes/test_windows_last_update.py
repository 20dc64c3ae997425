"""The update that follows a window's last backward belongs to the window."""

import pytest
import torch

import gradscope
from gradscope.measures.steps import by_step
from gradscope.model.training import CLIP, FORWARD, SCHEDULE, STEP, ZERO_GRAD
from gradscope.store.reader import load


def train(path, **options):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 + step)
    with gradscope.record(path, **options):
        for _ in range(9):
            model(torch.ones(8, 4)).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    path = tmp_path_factory.mktemp("window") / "run.gscope"
    train(path, steps="2:5")
    with load(path) as recording:
        yield recording


def test_the_calls_after_the_last_backward_are_there_up_to_the_next_forward(window):
    tails = [one for one in window.intervals() if one.backward is None and one.calls]
    kinds = [call.kind for call in tails[0].calls]
    assert kinds == [CLIP, STEP, SCHEDULE, ZERO_GRAD]
    assert all(call.kind is not FORWARD for one in tails for call in one.calls)


def test_each_step_has_its_optimizers_step_and_rate(window):
    table = by_step(window, {})
    names = [column.name for column in table.columns]
    found = [tuple(row[names.index(name)] for name in ("step", "stepped", "lr")) for row in table.rows]
    assert [(step, stepped) for step, stepped, _ in found] == [(2, "SGD"), (3, "SGD"), (4, "SGD")]
    assert [rate for *_, rate in found] == pytest.approx([0.3, 0.4, 0.5])


def test_nothing_of_the_next_forward_is_recorded(window):
    names = [one.name for block in window.blocks() for one in block.operations]
    assert names.count("aten.mean.default") == 3


def test_a_window_ends_without_a_module_when_the_next_backward_begins(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope", steps="1:2"):
        for _ in range(4):
            weight.square().sum().backward()
    with load(tmp_path / "run.gscope") as recording:
        assert [call.step for call in recording.backwards()] == [1]
        assert not recording.faults()
