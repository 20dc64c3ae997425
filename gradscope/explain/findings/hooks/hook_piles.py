"""GS757: hooks that are registered again and again, and never removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.hook import HookPlace
from gradscope.model.notice import FORWARD_HOOKS_PILE_UP

_SEVERAL = 3  # times that a line has registered one


def hooks_pile_up(case: Case) -> Iterator[Cause]:
    """A line that hangs one more hook on the same tensor at each pass.

    What it flags: hooks that one line registered at different times, on the same tensor, node or module, and that all
        ran in one backward; and forward hooks that it registered on the same module in three steps and more.
    Why: a hook stays until its handle's remove(). Registered in each step or epoch, it runs once more in each: a factor
        is applied again and again, a gradient is logged several times, and every backward takes longer.
    Wrong:
        for epoch in range(epochs):
            weight.register_hook(lambda gradient: gradient * 0.5)    # 0.5, 0.25, 0.125, ...
    Right:
        weight.register_hook(lambda gradient: gradient * 0.5)
        for epoch in range(epochs): ...
    Do instead: register it once, before the loop; or keep the handle and call its remove() before the next one.
    How it is found: the hooks that ran in the last backward in which any did. Three or more of one line hang on one
        node, and other backward calls ran between their registrations. Of forward hooks: when the third is registered
        the others are still there.
    """
    for notice in case.notices():
        if notice.what == FORWARD_HOOKS_PILE_UP:
            message = "this line has hung one forward hook after another on the same module, and none was removed: each"
            yield Cause(f"{message} call of the module runs them all", notice.site)
    groups: dict[object, list[tuple[HookPlace, int]]] = defaultdict(list)
    for place, since in case.hooks_last_fired():
        groups[place.hook.stack, place.hook.kind].append((place, since))
    for fired in groups.values():
        nodes: dict[int, list[tuple[HookPlace, int]]] = defaultdict(list)
        for place, since in fired:
            nodes[place.node].append((place, since))
        place, times = max(
            ((on[0][0], len({since for _, since in on})) for on in nodes.values()), key=lambda one: one[1]
        )
        if times >= _SEVERAL:
            call = case.backwards_by_number()[place.backward]
            others = f" and on {len(nodes) - 1} other{'s' * (len(nodes) > 2)}" if len(nodes) > 1 else ""
            yield Cause(
                f"this line has hung {times} hooks ({place.hook.name}) on {place.hook.on}{others}, one after another, "
                f"and backward {place.backward} ran them all",
                place.hook.site,
                (Related("fails_at", call.site, f"backward {place.backward}"),),
                node=place.node,
                backward=place.backward,
            )
