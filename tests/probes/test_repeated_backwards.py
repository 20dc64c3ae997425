"""Backward calls that only repeat are not watched, and what is written of them is true."""

import pytest
import torch
from torch import nn

import gradscope
from tests.probes.repeating import STEPS, blocks, record, training, watched


def test_most_of_what_repeats_is_not_watched(tmp_path):
    seen = watched(record(tmp_path / "run.gscope", training()[2]))
    assert list(seen) == list(range(STEPS))
    assert sum(seen.values()) < 12
    assert not all(seen[number] for number in range(STEPS - 16, STEPS))
    assert any(seen[number] for number in range(STEPS - 16, STEPS))


def test_what_is_written_is_what_watching_shows(tmp_path):
    left_out = record(tmp_path / "a.gscope", training()[2])
    every = record(tmp_path / "b.gscope", training()[2], watch_all=True)
    assert [(number, content) for number, _, content in blocks(left_out)] == [
        (number, content) for number, _, content in blocks(every)
    ]
    assert all(watched(every).values())
    with gradscope.load(left_out) as one, gradscope.load(every) as other:
        assert one.census().operations == other.census().operations
        assert one.census().repeated > 0 == other.census().repeated


def test_results_stay_the_same_to_the_bit(tmp_path):
    plain, _, step = training()
    for number in range(STEPS):
        step(number)
    recorded, _, step = training()
    record(tmp_path / "run.gscope", step)
    for one, other in zip(plain.parameters(), recorded.parameters(), strict=True):
        assert torch.equal(one, other)


def test_operators_after_a_backward_are_seen(tmp_path):
    path = record(tmp_path / "run.gscope", training()[2])
    with gradscope.load(path) as recording:
        forwards = [one for one in recording.blocks() if one.backward is None]
    assert all(one.watched for one in forwards)
    assert sum(any(each.name == "aten.add_.Tensor" for each in one.operations) for one in forwards) == STEPS


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.out = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.cells(x)[0])


MODELS = {
    "convolutions": lambda: (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 3)),
        torch.randn(5, 3, 6, 6),
    ),
    "attention": lambda: (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), torch.randn(3, 5, 4)),
    "recurrent": lambda: (Recurrent(), torch.randn(3, 5, 4)),
}


@pytest.mark.parametrize("name", MODELS)
def test_common_models_repeat(tmp_path, name):
    torch.manual_seed(0)
    model, x = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(number):
        optimizer.zero_grad()
        output = model(x).flatten(0, -2)
        nn.functional.cross_entropy(output, torch.zeros(len(output), dtype=torch.long)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    seen = watched(record(tmp_path / "run.gscope", step))
    assert list(seen.values()).count(False) > STEPS // 2
