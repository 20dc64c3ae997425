"""Why torch.compile stopped or gave up, in one sentence out of the page that it writes."""

from __future__ import annotations

import re

LONGEST = 200
PLAIN = {  # what Dynamo's short names for a break mean
    "generic_jump": "control flow depends on a tensor's value",
    "store_attr": "an attribute is set where that cannot be traced",
    "step_unsupported": "torch cannot trace this statement",
}
_EXPLANATION = re.compile(r"^\s*Explanation: (.+)$", re.MULTILINE)
_INNER = re.compile(r"got \w+\([\"'](.+)[\"']\)")


def in_one_sentence(reason: str) -> str:
    """The reason: torch's explanation where it gives one, else its first line, without code to look at."""
    words = reason.split()
    if words and words[0] in PLAIN:
        return PLAIN[words[0]]
    first = reason.strip().splitlines()[0].rstrip(" :.") if words else "torch gives no reason"
    explained = _EXPLANATION.search(reason)
    if explained is None:
        return _cut(first)
    inner = _INNER.search(explained[1])
    return _cut(inner[1] if inner else f"{first}: {explained[1].rstrip('.')}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
