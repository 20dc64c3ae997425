"""Which step of the run a backward call was, in the words of a finding.

Backward calls are counted from the recording's beginning, and that may be in the middle of a run: then the number alone
misleads whoever looks it up in the program's own log.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Finding

_CALL = re.compile(r"\bbackward (\d{1,9})\b")


def with_steps(case: Case, finding: Finding) -> Finding:
    """The finding, with the step behind each backward call that it numbers, where the recording begins later."""
    if not case.run().steps_before:
        return finding
    related = tuple(replace(one, what=_told(case, one.what)) for one in finding.related)
    return replace(finding, message=_told(case, finding.message), related=related)


def _told(case: Case, text: str) -> str:
    calls = case.backwards_by_number()

    def named(found: re.Match[str]) -> str:
        call = calls.get(int(found[1]))
        return found[0] if call is None else f"{found[0]} (step {call.step:,})"

    return _CALL.sub(named, text)
