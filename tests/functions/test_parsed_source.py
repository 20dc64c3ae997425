"""A text is parsed as it stands, but for what is nested deeper than a walk over it can go."""

from __future__ import annotations

import ast

import pytest

from gradscope.functions.source import parsed


def test_what_people_write_is_parsed_as_it_stands() -> None:
    text = "def f(x):\n    return [x.a().b(c)[0] + 1 for x in x if not x]\n"
    tree = parsed(text)
    assert tree is not None
    assert ast.dump(tree) == ast.dump(ast.parse(text))


@pytest.mark.parametrize("text", ["x = " + " + ".join(["a"] * 2_000), "x = a" + ".b()" * 900, "x = " + "-" * 600 + "a"])
def test_a_generated_expression_can_be_walked_by_calls_in_one_another(text: str) -> None:
    tree = parsed(text)
    assert tree is None or ast.unparse(tree).startswith("x = ")


def test_a_sum_keeps_its_last_terms() -> None:
    tree = parsed("x = " + " + ".join(f"a{one}" for one in range(300)))
    assert tree is not None
    assert ast.unparse(tree).endswith("a298 + a299")
    assert "a100 " not in ast.unparse(tree)


@pytest.mark.parametrize("text", ["def", "\0", "(" * 5_000])
def test_what_is_no_python_is_none(text: str) -> None:
    assert parsed(text) is None
