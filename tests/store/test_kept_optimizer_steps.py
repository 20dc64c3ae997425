"""What is known of an optimizer's steps is by their number, also where only the last steps are kept."""

import torch

import gradscope
from gradscope.measures.steps import by_step
from gradscope.store.reader import load


def rates(path, steps=12, **options):
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    with gradscope.record(path, **options):
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 1.0 + step
            optimizer.zero_grad()
            weight.square().sum().mul(1e-3).backward()
            optimizer.step()
    with load(path) as recording:
        table = by_step(recording, {})
        names = [column.name for column in table.columns]
        return {row[names.index("step")]: row[names.index("lr")] for row in table.rows}


def test_the_last_steps_have_their_own_learning_rates(tmp_path):
    whole = rates(tmp_path / "whole.gscope")
    last = rates(tmp_path / "last.gscope", keep_last=4)
    assert set(last) == {8, 9, 10, 11}
    assert last == {step: whole[step] for step in last} == {step: 1.0 + step for step in last}
