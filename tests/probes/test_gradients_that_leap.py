"""A division by almost zero is a leap; a product of large numbers is none."""

import pytest
import torch


@pytest.mark.parametrize(("begins", "leaps"), [(lambda x: x / 1e-12, 1), (lambda x: (x * 1e7) * 1e7, 0)])
def test_only_a_division_leaps(recorded, begins, leaps):
    def step():
        x = torch.rand(8, requires_grad=True)
        (begins(x) @ torch.full((8,), 1e7)).backward()

    with recorded(step) as recording:
        assert len(recording.leaps()) == leaps
