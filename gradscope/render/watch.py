"""The live view of recordings on a terminal, and the same in one line each where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gradscope.model.finding import Finding, Severity
from gradscope.model.glance import Glance, ModulePulse
from gradscope.model.printable import printable
from gradscope.view.sparkline import sparkline
from gradscope.view.words import seconds, size

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_NARROW, _BAR, _LEAST_BAR = 100, 32, 8
_FIXED = 5  # lines for a recording besides its modules


def line(glance: Glance) -> str:
    """A recording in a line of plain text."""
    return "  ".join((printable(glance.name), *_words(glance)))


def finding_line(finding: Finding) -> str:
    """A finding in a line: its code, where to look, what it says."""
    site = finding.site
    where = "-" if site is None else f"{printable(PurePath(site.file).name)}:{site.line}"
    return f"{finding.code} {where}: {printable(finding.message)}"


def view(
    glances: Sequence[Glance],
    findings: Sequence[Finding],
    width: int,
    height: int,
    only: str = "",
    below: str = "",
) -> RenderableType:
    """All of them on a screen: what does not fit is counted. `only` is a part of the modules' names to show."""
    told = list(_findings(findings, width, max(height // 4, 2)))
    room = max(height - len(told) - 2, 1)
    if len(glances) > 1:
        parts: list[RenderableType] = [_ranks(glances, room)]
    else:
        parts = [part for glance in glances for part in _one(glance, width, room, only)]
    return Group(*parts, *told, Text(below, style="dim", no_wrap=True, overflow="ellipsis"))


def _one(glance: Glance, width: int, room: int, only: str) -> Iterator[RenderableType]:
    head = Text(no_wrap=True, overflow="ellipsis")
    head.append(printable(glance.name), style="bold")
    head.append(f"  {printable(glance.trouble or glance.state)}", style="red" if _is_bad(glance) else "green")
    yield head
    for words in _wrapped(_words(glance)[1:], width):
        yield Text(words, no_wrap=True, overflow="ellipsis")
    bar = _BAR if width >= _NARROW else max(min((width - 46) // 2, _BAR), _LEAST_BAR)
    for name, values in (("loss", glance.loss), ("gradient norm", glance.gradients)):
        if values:
            yield Text(f"{name:<14} {sparkline(values, width - 28)} {values[-1]:.3g}", no_wrap=True)
    chosen = [one for one in glance.modules if only in one.name]
    if chosen:
        yield _modules(chosen, bar, max(room - _FIXED - 1, 1))


def _modules(chosen: Sequence[ModulePulse], bar: int, room: int) -> Table:
    table = Table(box=None, pad_edge=False, expand=False)
    table.add_column("module", no_wrap=True, overflow="ellipsis", max_width=22)
    table.add_column("gradient norm", no_wrap=True)
    table.add_column("updated", no_wrap=True)
    shown = chosen if len(chosen) <= room else chosen[: max(room - 1, 1)]
    for one in shown:
        last = f" {one.gradients[-1]:.3g}" if one.gradients else "-"
        share = f" {one.updates[-1]:.0%}" if one.updates else "-"
        gradients, updates = sparkline(one.gradients, bar) + last, sparkline(one.updates, _LEAST_BAR) + share
        table.add_row(Text(printable(one.name)), gradients, updates)
    if len(shown) < len(chosen):
        table.add_row(f"and {len(chosen) - len(shown):,} more", "", "")
    return table


def _ranks(glances: Sequence[Glance], room: int) -> Table:
    """Ranks side by side, a line each."""
    table = Table(box=None, pad_edge=False)
    for name in ("recording", "state", "step", "steps/s", "backward", "loss", "gradient norm"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", justify="left")
    for one in glances[: max(room - 1, 1)]:
        name = one.name if one.rank is None else f"rank {one.rank}"
        values = (
            "-" if one.step is None else f"{one.step:,}",
            "-" if one.pace is None else f"{one.pace:.3g}",
            "-" if one.backward_share is None else f"{one.backward_share:.0%}",
            f"{one.loss[-1]:.4g}" if one.loss else "-",
            f"{sparkline(one.gradients, _LEAST_BAR)} {one.gradients[-1]:.3g}" if one.gradients else "-",
        )
        table.add_row(Text(printable(name)), Text(printable(one.trouble or one.state)), *values)
    return table


def _words(glance: Glance) -> list[str]:
    """What is known, a few words each."""
    if glance.trouble is not None:
        return [printable(glance.trouble)]
    found = [glance.state, "no step yet" if glance.step is None else f"step {glance.step:,}"]
    if glance.pace is not None:
        found.append(f"{glance.pace:.3g} steps/s" if glance.pace >= 1 else f"{seconds(1 / glance.pace)} a step")
    if glance.backward_share is not None:
        found.append(f"{glance.backward_share:.0%} in backward")
    if glance.loss:
        found.append(f"loss {glance.loss[-1]:.4g}")
    if glance.nodes is not None:
        found.append(f"{glance.nodes:,} nodes")
    if glance.saved is not None:
        found.append(f"saves {size(glance.saved)}")
    if glance.rate is not None:
        found.append(f"lr {glance.rate:.3g}")
    return [*found, f"file {size(glance.size)}"] if glance.size else found


def _wrapped(words: Sequence[str], width: int) -> Iterator[str]:
    """Words of a kind stay together."""
    waiting = ""
    for word in words:
        longer = f"{waiting}  {word}" if waiting else word
        if len(longer) > width and waiting:
            yield waiting
            longer = word
        waiting = longer
    yield waiting


def _is_bad(glance: Glance) -> bool:
    return glance.trouble is not None or glance.state not in ("being written", "ended")


def _findings(findings: Sequence[Finding], width: int, most: int) -> Iterator[Text]:
    if findings:
        yield Text(f"findings: {len(findings)}", style="bold")
    for one in findings[:most]:
        style = _COLOURS[one.severity]
        yield Text(finding_line(one)[: width * 2], style=style, no_wrap=True, overflow="ellipsis")
