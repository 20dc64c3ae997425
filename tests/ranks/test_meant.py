"""What a rank may well mean is a hint, whatever its kind is otherwise."""

from dataclasses import replace

from gradscope.model.finding import Severity
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.table import RANK_KINDS


def test_what_may_be_meant_is_a_hint() -> None:
    kind = RANK_KINDS["GS792"]
    blame = Blame("a part is not averaged", None)
    assert kind.finding(blame).severity is Severity.WARNING
    assert kind.finding(replace(blame, meant=True)).severity is Severity.INFO
