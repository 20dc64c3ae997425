"""Two tensors of one storage meet where they have an element in common, and nowhere else."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradscope.probes.tensors.layout import layout_of, meet


def buffer():
    return torch.zeros(6, 5)


PAIRS = {
    "itself": (lambda x: x, lambda x: x),
    "a row and another": (lambda x: x[0], lambda x: x[1]),
    "rows and their neighbour": (lambda x: x[:2], lambda x: x[2]),
    "a row and a column": (lambda x: x[2], lambda x: x[:, 3]),
    "columns and their neighbour": (lambda x: x[..., :3], lambda x: x[..., 3]),
    "columns and one of them": (lambda x: x[..., :3], lambda x: x[..., 2]),
    "even and odd ones": (lambda x: x.view(-1)[::2], lambda x: x.view(-1)[1::2]),
    "every second and every third": (lambda x: x.view(-1)[1::2], lambda x: x.view(-1)[::3]),
    "a diagonal and what lies above": (lambda x: x.diagonal(), lambda x: x.diagonal(1)),
    "a diagonal and a column": (lambda x: x.diagonal(), lambda x: x[:, 1]),
    "the transposed": (lambda x: x.t()[1:], lambda x: x[:, 0]),
    "expanded": (lambda x: x[:, :1].expand(6, 9), lambda x: x[:, 1:]),
    "windows": (lambda x: x.view(-1).unfold(0, 7, 3), lambda x: x[5, 4]),
    "nothing": (lambda x: x[:0], lambda x: x),
}


def in_common(one, other):
    """By the indices of their elements."""
    numbers = torch.arange(30)
    shown = [numbers.as_strided(view.shape, view.stride(), view.storage_offset()).flatten() for view in (one, other)]
    return bool(torch.isin(*shown).any())


def met(one, other):
    layouts = layout_of(one), layout_of(other)
    return None not in layouts and meet(*layouts)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_is_what_their_elements_say(pair):
    whole = buffer()
    one, other = pair[0](whole), pair[1](whole)
    assert met(one, other) == met(other, one) == in_common(one, other)


VIEWS = st.tuples(st.integers(0, 9), st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6)), max_size=3)).filter(
    lambda view: view[0] + sum((size - 1) * stride for size, stride in view[1]) < 30
)


@given(VIEWS, VIEWS)
def test_is_so_for_any_strides(one, other):
    views = [
        buffer().as_strided([size for size, _ in dims], [stride for _, stride in dims], start)
        for start, dims in (one, other)
    ]
    assert met(*views) == in_common(*views)


def test_kinds_of_numbers_count_in_bytes():
    pairs = torch.zeros(4, dtype=torch.complex64)
    real, imaginary = torch.view_as_real(pairs).unbind(-1)
    assert met(pairs[1], real)
    assert met(pairs[1:2], imaginary[1])
    assert not met(real, imaginary)
    assert not met(pairs[1], imaginary[2:])


def test_what_has_no_strides_is_not_known():
    assert layout_of(torch.eye(3).to_sparse()) is None


def test_large_ones_are_soon_told():
    large = torch.empty(1, device="meta").expand(1 << 20, 64, 512).new_empty(1 << 20, 64, 512)
    assert met(large[:, 3], large[5, :, 7])
    assert not met(large[:, :3], large[:, 3])
    assert not met(large[..., ::2], large[..., 1::2])
    assert not met(large[::2, :, 1::7], large[1::2, :, ::3])
