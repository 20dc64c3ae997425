"""Every kind has a code of its own and a whole page."""

from gradscope.explain.findings.kind import HEADINGS
from gradscope.explain.findings.table import KINDS, TABLE
from tests.explain.corpus import faults

LEAST = 3  # faults of each kind, so that one odd script does not stand for all


def test_codes_and_names_are_unique():
    assert len({kind.code for kind in TABLE}) == len({kind.name for kind in TABLE}) == len(TABLE)


def test_the_page_of_each_kind_has_every_section():
    sections = [(kind.code, heading) for kind in KINDS.values() for heading in HEADINGS if not kind.section(heading)]
    assert KINDS
    assert sections == []


def test_each_kind_has_faults_in_the_corpus():
    causes = [{mark.code for mark in fault.marks if mark.role is None} for fault in faults()]
    assert [code for code in KINDS if sum(code in named for named in causes) < LEAST] == []
