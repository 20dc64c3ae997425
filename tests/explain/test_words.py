"""Words that findings share."""

from gradscope.explain.evidence.words import line_of
from gradscope.model.site import Site


def test_a_line_beside_what_is_told_needs_no_file():
    assert line_of(Site("train.py", 68), Site("train.py", 70)) == "line 68"


def test_a_line_of_another_file_says_which():
    assert line_of(Site("train.py", 68), Site("model.py", 49)) == "line 68 of train.py"
