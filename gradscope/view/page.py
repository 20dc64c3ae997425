"""What a page holds, as plain values that JSON can write: tables, graphs, backward calls, findings, sources."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gradscope.graphs.rules import Rules
from gradscope.model.finding import Finding, Related
from gradscope.model.printable import printable
from gradscope.model.site import Site
from gradscope.version import __version__
from gradscope.view.heat import QUANTITIES
from gradscope.view.page_backward import backward_row, number
from gradscope.view.page_graph import graph_columns
from gradscope.view.page_tables import PageTables, lines
from gradscope.view.role import Role
from gradscope.view.story import Story, without_places
from gradscope.view.theme import MARKS, THEMES, Theme
from gradscope.view.title import program
from gradscope.view.words import role_words

FORMAT = 1
MOST_STEPS = 2_000  # of a run, over which its loss is drawn
Step = tuple[int, float | None, float | None]


def contents(story: Story) -> dict[str, Any]:
    """Everything that the page's script reads."""
    tables = PageTables(story.run.cwd)
    graphs: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    backwards = []
    calls = {one.graph.backward.number: one.graph for one in story.backwards}
    first = dict(zip(calls, story.alike or calls, strict=True))
    for recorded in story.backwards:
        key = first[recorded.graph.backward.number]
        if key not in places:
            places[key] = len(graphs)
            graphs.append(graph_columns(recorded.graph, tables))
        backwards.append(backward_row(recorded, places[key], tables))
    findings = [_finding(one, tables) for one in without_places(story.findings, calls)]
    return {
        "format": FORMAT,
        "gradscope": __version__,
        "torch": story.run.torch,
        "program": printable(program(story.run)),
        "recording": printable(story.recording),
        "detail": story.run.detail,
        "chosen": next(place for place, number in enumerate(calls) if number == story.chosen),
        "left_out": story.left_out,
        "rules": _rules(story.rules),
        "theme": story.theme,
        "quantities": [[one.name, one.words, one.adds, one.lack] for one in QUANTITIES.values()],
        "color": story.color,
        "steps": [[one, number(loss), number(norm)] for one, loss, norm in _some(story.steps, calls.keys())],
        "graphs": graphs,
        "backwards": backwards,
        "findings": findings,
        "themes": {name: _theme(theme) for name, theme in THEMES.items()},
        "marks": [[role.name, mark.shape, mark.line, mark.width] for role, mark in MARKS.items()],
        "legend": {role.name: role.value for role in Role},
        "sources": [[tables.string(file), lines(text)] for file, text in story.sources.items()],
        **tables.contents(),
    }


def _some(steps: Sequence[Step], held: Collection[int]) -> list[Step]:
    """As many steps as a page has points for, and all that it holds."""
    every = -(-len(steps) // MOST_STEPS) or 1
    return [step for place, step in enumerate(steps) if place % every == 0 or step[0] in held]


def _rules(rules: Rules) -> dict[str, Any]:
    folds = {"fold": rules.fold, "params": rules.params, "keep": sorted(rules.keep)}
    return {"depth": rules.depth, "focus": rules.focus, **folds}


def _theme(theme: Theme) -> dict[str, Any]:
    looks = [[role.name, look.fill, look.border, look.strip] for role, look in theme.looks.items()]
    frames = {"frame": theme.frame, "frame_border": theme.frame_border, "ramp": theme.ramp, "looks": looks}
    return {"paper": theme.paper, "ink": theme.ink, "quiet": theme.quiet, "arrow": theme.arrow, **frames}


def _finding(finding: Finding, tables: PageTables) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": lines(finding.message),
        "advice": lines(finding.advice),
        "frame": tables.frame(finding.site),
        "related": [_related(one, tables) for one in finding.related],
        "node": finding.node,
        "backward": finding.backward,
        "certain": finding.confidence.value,
        "words": [printable(word) for word in (finding.op, finding.tensor, finding.module) if word],
    }


def _related(related: Related, tables: PageTables) -> list[Any]:
    site: Site | None = related.site
    return [role_words(related.role), tables.frame(site), printable(related.what)]
