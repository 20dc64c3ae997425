"""The mini-language of --spec."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gradscope.errors import UsageError
from gradscope.functions.inputs.build import samples_from_spec
from gradscope.functions.inputs.spec import TensorSpec, parse_spec


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("randn(3,4):grad", (TensorSpec("randn", (3, 4), grad=True),)),
        ("randn( 3 , 4 ) , int=2", (TensorSpec("randn", (3, 4)), 2)),
        ("index(5,max=3)", (TensorSpec("index", (5,), max=3),)),
        ("zeros(2, dtype=float64):nograd", (TensorSpec("zeros", (2,), "float64", False),)),
        ("rand()", (TensorSpec("rand", ()),)),
        ("None, True, -1.5, 2, 'sum'", (None, True, -1.5, 2, "sum")),
        ("float=2, str=mean, bool=1", (2.0, "mean", True)),
        ("[1, 2, [3]]", ([1, 2, [3]],)),
    ],
)
def test_spec_is_understood(text, arguments):
    assert parse_spec(text) == (arguments,)


def test_semicolons_separate_samples():
    assert len(parse_spec("randn(3); randn(4)")) == 2


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("randn(3,:grad", 9),
        ("rendn(3)", 1),
        ("randn(3) randn(4)", 10),
        ("randn(3, max=x)", 14),
        ("randn(3):grid", 10),
        ("int=x", 5),
        ("__import__('os')", 1),
        ("randn(3), ?", 11),
        ("", 1),
        ("randn(99999999,99)", 18),
        ("[1", 3),
    ],
)
def test_errors_point_at_the_column(text, column):
    with pytest.raises(UsageError, match=f"column {column}:"):
        parse_spec(text)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=30), st.text("randint(),=:; 0123456789'[]max.dtypefloat", max_size=40)))
def test_any_text_is_parsed_or_refused_with_one_sentence(text):
    assert re.match(r"$|--spec, column \d+: ", refusal(text))


def refusal(text):
    try:
        parse_spec(text)
    except UsageError as error:
        return error.sentence
    return ""


def test_samples_are_built():
    (sample,) = samples_from_spec("randn(3,4):grad, int=2, index(5,max=3), None, rand(2)")
    assert sample.differentiable == (0,)
    assert sample.args[1] == 2
    assert sample.args[3] is None
    assert sample.args[2].dtype is torch.int64
    assert int(sample.args[2].max()) < 3


def test_samples_are_the_same_every_time():
    first, second = samples_from_spec("randn(3)")[0], samples_from_spec("randn(3)")[0]
    assert torch.equal(first.args[0], second.args[0])
