"""GS872: frozen layers whose averages go on moving."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.frozen_losses import freezing_lines
from gradscope.explain.deductions.states.rested_in_vain import rested_in_vain
from gradscope.explain.deductions.states.trained_after_freeze import trained_after
from gradscope.explain.deductions.states.unreached_train import UnreachedTrain, unreached_train
from gradscope.explain.deductions.states.woken_by_train import Waking, mode_line, waking
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.notice import FROZEN_MOVES, FROZEN_MOVES_AT_REST, Notice
from gradscope.model.site import Site
from gradscope.model.training import TrainingCall

_NAME = re.compile(r"\w+")


def frozen_averages_move(case: Case) -> Iterator[Cause]:
    """What it flags: a batch normalisation whose weights are frozen, and whose running averages move with each batch.

    Why: requires_grad=False holds parameters. Averages are buffers, which every forward in training mode updates: what
    was frozen gives other values in evaluation than it did before, for its old task as well.

    Wrong:
        backbone.requires_grad_(False)
        model.train()

    Right:
        backbone.requires_grad_(False)
        model.train()
        backbone.eval()

    Do instead: put what is frozen into evaluation mode, after each train() of what is around it.

    How it is found: it normalised by the batch and updated its averages, with gradients on, while its weight did not
    require grad, and its weight did not require grad again later. The line is the train() of the model that came after
    an eval() of the frozen part, or the call that gives a function the model for its mode only. Else it is a train()
    that runs behind what freezes them, or the only one that freezes something, or one of that name, or the one that
    normalises. Or the class with a base whose own train(), which calls eval(), stands behind a module's and is not
    reached. Or the base's train() in a train() of its own that has called eval() before it. Or all this without
    gradients, as of a teacher, where there is such a train() behind an eval(). A hint: averages may be meant to follow
    the new data.
    """
    for what in (FROZEN_MOVES, FROZEN_MOVES_AT_REST):
        moving = [notice for notice in case.notices() if notice.what == what]
        stacks = {notice.stack for notice in moving}
        unreached = unreached_train(case, stacks) if moving else None
        if unreached is not None:
            yield _unreached(unreached, moving)
            return
        vain = rested_in_vain(case, stacks) if moving else None
        if vain is not None:
            yield _rested_in_vain(moving, *vain)
            return
        woken = waking(case, stacks) if moving else None
        if woken is not None or (moving and what == FROZEN_MOVES):
            yield _cause(case, moving, woken)
            return


def _unreached(found: UnreachedTrain, moving: list[Notice]) -> Cause:
    """A base's train() that would have kept them at rest."""
    places = ((found.train, "the train() that is not reached"), (moving[0].site, "normalises by the batch"))
    return Cause(
        "the base with a train() of its own stands behind a module among the bases: nn.Module's is called in its "
        "place, and frozen batch normalisations are in training mode",
        found.declared,
        tuple(Related("declared_at", site, what) for site, what in places if site is not None),
        certain=False,
        advice="name that base before the module among the bases",
    )


def _rested_in_vain(moving: list[Notice], rest: TrainingCall, woken: Site) -> Cause:
    """A train() of one's own that would have kept them at rest, were it not for the base's behind it."""
    places = ((rest.site, "eval()"), (moving[0].site, "normalises by the batch"))
    return Cause(
        "this train() of the base runs behind the eval() in its own function, and puts frozen batch normalisations "
        "back into training mode: their averages move on",
        woken,
        tuple(Related("called_at", site, what) for site, what in places if site is not None),
        certain=False,
        advice="call the base's train() first, and put what is frozen into evaluation mode behind it",
    )


def _cause(case: Case, moving: list[Notice], woken: Waking | None) -> Cause:
    called = moving[0].site
    places = [("called_at", called, "normalises by the batch")]
    if woken is not None:
        site = mode_line(case, woken.train)
        message = "train() puts frozen batch normalisations back into training mode: their averages move on"
        places.insert(0, ("declared_at", woken.rest.site, "eval()"))
        places.append(("called_at", woken.train.site, "train()"))
    else:
        freezing = _freezing(case, moving)
        site = freezing[0] if len(freezing) == 1 else called
        message = "frozen batch normalisations are in training mode: their averages move on with each batch"
        train = trained_after(case, {notice.stack for notice in moving}, freezing)
        if train is not None:
            message = "train() has frozen batch normalisations in training mode as well: their averages move on"
            places = [*places, ("declared_at", freezing[0], "freezes"), ("called_at", train.site, "train()")]
            site = mode_line(case, train)
    related = tuple(Related(*one) for one in places if one[1] not in (None, site))
    return Cause(message, site, related, certain=False)


def _freezing(case: Case, moving: list[Notice]) -> list[Site]:
    """The lines that freeze something of the name of such a part, or else all that freeze something."""
    parts, freezing = _parts(case, moving), freezing_lines(case)
    return [site for site in freezing if parts.intersection(_NAME.findall(_frozen(case, site)))] or freezing


def _parts(case: Case, moving: list[Notice]) -> set[str]:
    """The names of the modules that such batch normalisations are in."""
    stacks = {notice.stack for notice in moving}
    operations = (one for block in case.blocks() for one in block.operations if one.stack in stacks)
    return {part for one in operations if one.module is not None for part in one.module.path.split(".")}


def _frozen(case: Case, site: Site) -> str:
    """The text that says what a line freezes: its own, and what the loop around it goes over."""
    loop = syntax(case).loop(site)
    return f"{site.source} {ast.unparse(loop.iter) if isinstance(loop, ast.For) else ''}"
