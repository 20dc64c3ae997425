"""All kinds of faults, in the order in which they are asked about: of two that fit alike, the first is the cause."""

from __future__ import annotations

from gradscope.explain import transforms
from gradscope.explain.kind import Kind, Question
from gradscope.functions.rules.table import RULES

TABLE: tuple[Kind, ...] = ()
KINDS = {kind.code: kind for kind in sorted(TABLE, key=lambda kind: kind.code)}


def _of_rule(code: str, question: Question) -> Kind:
    """What a rule of check-function flags, met at run time: it has the rule's code, name and page."""
    rule = RULES[code]
    return Kind(code, rule.name, rule.severity, question, advises=rule.section("Do instead"))


MET_AT_RUN_TIME = (
    _of_rule("GS110", transforms.combined_forward),
    _of_rule("GS301", transforms.no_vmap),
    _of_rule("GS320", transforms.no_jvp),
    _of_rule("GS213", transforms.dirty_with_generated_vmap),
    _of_rule("GS311", transforms.inplace_on_unbatched),
    _of_rule("GS312", transforms.random_under_vmap),
    _of_rule("GS330", transforms.functionalize),
)
QUESTIONS = (*TABLE, *MET_AT_RUN_TIME)
