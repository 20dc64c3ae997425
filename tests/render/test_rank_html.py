"""The page of ranks: what was found with its lines, the table, and nothing that runs or is fetched."""

from __future__ import annotations

from gradscope.model.finding import Finding, Related, Severity
from gradscope.model.report import Report
from gradscope.model.site import Site
from gradscope.model.table import Column, Table, Unit
from gradscope.render.rank_formats import RANK_FORMATS, RankPage

LINE = Site("/somewhere/train.py", 7, "main", "dist.all_reduce(a < b)")
FINDING = Finding(
    code="GS791",
    name="rank-stopped",
    severity=Severity.ERROR,
    message="rank 1 raised <ValueError>",
    advice="Look there.",
    site=LINE,
    related=(Related("fails_at", LINE, "rank 0: in allreduce"),),
)
TABLE = Table("ranks", (Column("rank", Unit.COUNT), Column("line", Unit.PLACE)), ((0, "/somewhere/train.py:7"),))


def page(*findings: Finding) -> str:
    return RANK_FORMATS["html"](RankPage(Report(findings, torch="2", recording="ranks"), TABLE, "/somewhere"))


def test_findings_stand_with_their_lines() -> None:
    text = page(FINDING)
    assert "GS791 rank-stopped" in text
    assert "<td>train.py:7<code>dist.all_reduce(a &lt; b)</code></td>" in text
    assert "rank 1 raised &lt;ValueError&gt;" in text


def test_a_healthy_run_says_so() -> None:
    assert "1 rank: nothing found" in page()


def test_nothing_runs_and_nothing_is_fetched() -> None:
    text = page(FINDING)
    assert "<script" not in text
    assert "http://" not in text.replace("http-equiv", "")
    assert "https://" not in text


def test_every_rank_has_a_row() -> None:
    assert "<td>0</td><td>train.py:7</td>" in page()
