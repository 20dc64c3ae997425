"""Every kind has a code of its own and a whole page."""

import pytest

from gradscope.explain.findings.kind import HEADINGS
from gradscope.explain.findings.table import KINDS, TABLE
from tests.explain.corpus import faults

LEAST = 3  # faults of each kind, so that one odd script does not stand for all


def test_codes_and_names_are_unique():
    assert len({kind.code for kind in TABLE}) == len({kind.name for kind in TABLE}) == len(TABLE)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.code)
def test_the_page_has_every_section(kind):
    assert [heading for heading in HEADINGS if not kind.section(heading)] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.code)
def test_each_kind_has_faults_in_the_corpus(kind):
    causes = [fault for fault in faults() if any(mark.code == kind.code and mark.role is None for mark in fault.marks)]
    assert len(causes) >= LEAST
