"""Each fault's cause is named first, at its line; nothing is found in the repaired twin, nor in the
sample scripts, nor in programs that look like faults and are none (`healthy/`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradscope.model.finding import Severity
from gradscope.model.report import Report
from gradscope.model.site import Site
from tests.explain.corpus import FAULTS, Fault, faults, twin_of, twins
from tests.torch_versions import skip_where_different, skip_where_silent

Explained = Callable[[Path], Report]
LOOK_ALIKES = Path(__file__).parent / "healthy"
HEALTHY = [*twins(), *sorted(FAULTS.parent.glob("*.py")), *sorted(LOOK_ALIKES.glob("*.py"))]


def place(site: Site | None) -> tuple[str, int] | None:
    return None if site is None else (site.file, site.line)


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_the_cause_is_named_first(fault: Fault, explained: Explained) -> None:
    skip_where_silent(*(mark.code for mark in fault.marks))
    skip_where_different(fault.name)
    report = explained(fault.script)
    causes = [mark for mark in fault.marks if mark.role is None]
    assert causes, "a fault has a line marked `# expect: CODE`"
    assert report.findings, f"nothing found, {causes} expected"
    first = report.findings[0]
    assert (first.code, place(first.site)) in [(mark.code, (mark.file, mark.line)) for mark in causes]
    for mark in fault.marks:
        if mark.role is not None:
            named = [
                (related.role, place(related.site))
                for f in report.findings
                if f.code == mark.code
                for related in f.related
            ]
            assert (mark.role, (mark.file, mark.line)) in named
    alarms = {finding.code for finding in report.at_least(Severity.WARNING)}
    assert alarms <= {mark.code for mark in fault.marks}, "what is not marked is a false alarm"


@pytest.mark.parametrize("script", HEALTHY, ids=lambda script: "/".join(script.parts[-3:]))
def test_nothing_is_found_in_a_healthy_run(script: Path, explained: Explained) -> None:
    assert explained(script).at_least(Severity.WARNING) == ()


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_each_fault_has_a_repaired_twin(fault: Fault) -> None:
    assert twin_of(fault).is_file()
