"""The ranks of a run as one page that works offline and runs nothing: the table of them, and what was found."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gradscope.model.finding import Finding
from gradscope.model.printable import printable
from gradscope.model.report import Report
from gradscope.model.site import Site
from gradscope.model.table import Table
from gradscope.render.page_parts import asset, policy
from gradscope.render.tables import in_words
from gradscope.view.words import place, role_words

_STYLE = "comparison.css"


def render(report: Report, table: Table, folder: str) -> str:
    """The whole page. `folder` is the run's working directory."""
    style = asset(_STYLE)
    body = "\n".join(_body(report, table, folder))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy((), style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>gradscope ranks: {_text(report.recording or folder)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(report: Report, table: Table, folder: str) -> Iterator[str]:
    found = report.findings
    count = f"{len(table.rows):,} rank{'s' * (len(table.rows) != 1)}"
    mark, verdict = ("parted", _text(found[0].name)) if found else ("same", "nothing found")
    yield f'<h1 class="{mark}">{count}: {verdict}</h1>'
    for finding in found:
        yield from _finding(finding, folder)
    heads = "".join(f'<th title="{_text(column.help)}">{_text(column.name)}</th>' for column in table.columns)
    yield f'<h2>Ranks</h2><table class="sides"><thead><tr>{heads}</tr></thead><tbody>'
    for row in table.rows:
        yield "<tr>" + "".join(f"<td>{escape(words)}</td>" for words in in_words(table, row, folder)) + "</tr>"
    yield "</tbody></table>"


def _finding(finding: Finding, folder: str) -> Iterator[str]:
    yield f"<h2>{_text(finding.code)} {_text(finding.name)} ({finding.severity.value}, {finding.confidence.value})</h2>"
    yield f"<p>{_text(finding.message)}</p><table><tbody>"
    yield _row("line", finding.site, "", folder)
    for related in finding.related:
        yield _row(role_words(related.role), related.site, related.what, folder)
    yield f"</tbody></table><p>{_text(finding.advice)}</p>"


def _row(role: str, site: Site | None, what: str, folder: str) -> str:
    words = ": ".join(filter(None, (_text(what), _text(place(site, folder)) if site is not None else "")))
    source = f"<code>{_text(site.source)}</code>" if site is not None and site.source else ""
    return f"<tr><th>{_text(role)}</th><td>{words or '-'}{source}</td></tr>"


def _text(text: str) -> str:
    return escape(printable(text))
