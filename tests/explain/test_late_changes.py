"""What is said of parameters that were trained until something happened."""

from pathlib import Path

import pytest

from tests.explain.corpus import FAULTS


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("code_detached_later", "GS721", "from the optimizer's step 37 on, after having been trained: .detach gives"),
        ("augmented_from_the_fourth_epoch", "GS721", "from the optimizer's step 33 on"),
        ("features_without_a_graph_later", "GS723", "from the optimizer's step 65 on"),
        ("head_widened_later", "GS727", "head.weight are in no optimizer: it still holds what they replaced after 43"),
    ],
)
def test_it_is_said_since_when(explained, name, code, words):
    first, *others = [one for one in explained(FAULTS / "no_gradient" / f"{name}.py").findings if one.code != "GS781"]
    assert first.code == code
    assert words in first.message
    assert not others


def test_nothing_is_called_unused_because_its_step_was_not_looked_at(explained):
    found = explained(FAULTS / "no_gradient" / "code_detached_later.py").findings
    assert [one.code for one in found] == ["GS721"]


def test_a_leaf_that_was_asked_for_before_it_had_a_place_gets_its_name(explained):
    (first, *_) = explained(FAULTS / "no_gradient" / "head_widened_later.py").findings
    assert "leaf" not in first.message


def test_a_head_that_rests_is_none(explained):
    assert not explained(Path(__file__).parent / "healthy" / "heads_that_rest.py").findings
