"""The statistics of a gradient are what torch's own functions say of it, whatever its size and layout."""

import math

import pytest
import torch

from gradscope.probes.tensors.statistics import is_dense, statistics_of

DENSE = {
    "contiguous": lambda: torch.rand(3, 4),
    "transposed": lambda: torch.rand(3, 4).t(),
    "permuted": lambda: torch.rand(2, 3, 4).permute(2, 0, 1),
    "with a row of one": lambda: torch.rand(3, 1, 4).transpose(0, 1),
    "a number": lambda: torch.rand(()),
}
NOT_DENSE = {
    "expanded": lambda: torch.rand(3, 1).expand(3, 4),
    "sliced": lambda: torch.rand(3, 8)[:, ::2],
    "overlapping": lambda: torch.rand(8).as_strided((2, 2, 2), (1, 1, 5)),
    "a column": lambda: torch.rand(4, 4)[:, 0],
}


@pytest.mark.parametrize("name", DENSE)
def test_dense(name):
    assert is_dense(DENSE[name]())


@pytest.mark.parametrize("name", NOT_DENSE)
def test_not_dense(name):
    assert not is_dense(NOT_DENSE[name]())


@pytest.mark.parametrize("count", [1, 100, 32_768, 131_073, 400_000])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_against_torch(count, share, dtype):
    torch.manual_seed(0)
    values = torch.randn(count, dtype=dtype) * (torch.rand(count) >= share)
    norm, most, zeros, nan, inf = statistics_of(values)
    assert math.isclose(norm, float(values.double().norm()), rel_tol=1e-5)
    assert most == float(values.abs().max())
    assert zeros == float((values == 0).double().mean())
    assert (nan, inf) == (0, 0)


@pytest.mark.parametrize("large", [False, True])
def test_what_is_not_finite_is_counted_and_left_out(large):
    values = torch.ones(200_000 if large else 8)
    values[3], values[5], values[-1], values[0] = math.nan, math.inf, -math.inf, 0.0
    norm, most, zeros, nan, inf = statistics_of(values)
    assert norm == pytest.approx(math.sqrt(len(values) - 4))
    assert (most, zeros, nan, inf) == (1.0, 1 / len(values), 1, 2)


@pytest.mark.parametrize("large", [False, True])
def test_a_norm_that_overflows_its_dtype(large):
    values = torch.full((200_000 if large else 8,), 1e30)
    norm, most, *_ = statistics_of(values)
    assert norm == pytest.approx(1e30 * math.sqrt(len(values)))
    assert most == pytest.approx(1e30)


@pytest.mark.parametrize("name", [*DENSE, *NOT_DENSE])
def test_layouts_make_no_difference(name):
    values = (DENSE | NOT_DENSE)[name]()
    assert statistics_of(values) == pytest.approx(statistics_of(values.contiguous()))


def test_large_tensors_of_any_order_are_read_as_they_lie():
    values = torch.randn(600, 400).relu()
    assert statistics_of(values.t()) == statistics_of(values)
