"""A mistake of gradscope's own in one question about ranks takes no other answer along."""

import pytest

from gradscope.model.choice import Choice
from gradscope.model.finding import Severity
from gradscope.ranks import table
from gradscope.ranks.core.kind import Blame, RankKind


def fails(ranks):
    raise IndexError("of one question")


def tells(ranks):
    """What it flags:
    Something."""
    return [Blame("told all the same", None)]


@pytest.fixture
def kinds(monkeypatch):
    both = (
        RankKind("GS790", "collective-mismatch", Severity.ERROR, fails),
        RankKind("GS792", "replicas-drift", Severity.WARNING, tells),
    )
    monkeypatch.setattr(table, "RANK_KINDS", {kind.code: kind for kind in both})


def test_the_other_answers_are_given(kinds):
    mistakes = []
    assert [one.message for one in table.findings(None, Choice(), mistakes)] == ["told all the same"]
    assert list(map(type, mistakes)) == [IndexError]


def test_it_is_raised_where_nobody_notes_it(kinds):
    with pytest.raises(IndexError, match="of one question"):
        table.findings(None, Choice())
