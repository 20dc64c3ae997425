"""Where ranks agree, a few recordings are asked by themselves: the faults of one are told, and what was left out."""

import shutil

import pytest

from gradscope.commands.ranks import report_of
from gradscope.model.choice import Choice
from gradscope.model.finding import Severity
from gradscope.model.report import Report
from gradscope.ranks.gather import gather
from gradscope.render.rank_formats import RANK_FORMATS, RankPage
from gradscope.view.ranks import table

FROZEN = """
import torch
layer, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    head(layer(torch.ones(2, 3)).detach()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def ranks(side_by_side, tmp_path):
    script = tmp_path / "trains.py"
    script.write_text(FROZEN)
    _, path = side_by_side.traced(tmp_path, script)
    return gather([path])


@pytest.fixture
def healthy(side_by_side, tmp_path):
    """The recording of the repaired script, as that of a rank before the one that goes wrong."""
    script = tmp_path / "trains_well.py"
    script.write_text(FROZEN.replace(".detach()", ""))
    _, path = side_by_side.traced(tmp_path, script)
    return path


def test_a_later_one_is_told_with_its_number(ranks, healthy, tmp_path):
    first, second = (tmp_path / f"run.r0000{number}-of-00002.1.gscope" for number in range(2))
    shutil.copy(healthy, first)
    shutil.copy(ranks.ranks[0].path, second)
    (found,) = report_of(gather([first, second]), Choice(ignore=("GS79",))).findings
    assert (found.code, found.site.line) == ("GS721", 6)
    assert found.message.startswith("on rank 1: ")


def test_its_faults_are_told_without_hints(ranks):
    found = report_of(ranks, Choice()).findings
    assert [(one.code, one.site.line) for one in found] == [("GS721", 6)]
    assert Severity.INFO not in {one.severity for one in found}


def test_a_choice_holds_for_it_too(ranks):
    assert report_of(ranks, Choice(ignore=("GS721",))).findings == ()


def test_what_took_too_long_is_said(ranks, monkeypatch):
    monkeypatch.setattr("gradscope.anomaly.explain", lambda recording, choice, mistakes: Report(left_out=("GS741",)))
    text = RANK_FORMATS["text"](RankPage(report_of(ranks, Choice()), table(ranks.ranks)))
    assert "looking for GS741 took too long" in text
