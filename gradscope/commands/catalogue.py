"""All codes that any command reports, from the tables in which they stand. Loads no torch."""

from __future__ import annotations

from gradscope.explain.findings.kind import Kind
from gradscope.explain.findings.table import KINDS
from gradscope.functions.rules.rule import Rule
from gradscope.functions.rules.table import RULES
from gradscope.ranks.core.kind import RankKind
from gradscope.ranks.table import RANK_KINDS

CODES: dict[str, Rule | Kind | RankKind] = {**RULES, **KINDS, **RANK_KINDS}
