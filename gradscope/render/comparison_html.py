"""Two runs side by side as one page that works offline and runs nothing: it has no script at all."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gradscope.model.comparison import Comparison, Difference, Edit, Side
from gradscope.model.printable import printable
from gradscope.render.page_parts import asset, policy
from gradscope.view.comparison import NOTHING, headline, identical, side_words, tally_words, when
from gradscope.view.words import place, short_file

STYLE = "comparison.css"


def render(comparison: Comparison) -> str:
    """The whole page."""
    style = asset(STYLE)
    title = _text(f"{comparison.first.program} and {comparison.second.program}")
    body = "\n".join(_body(comparison))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy((), style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>gradscope diff: {title}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _body(comparison: Comparison) -> Iterator[str]:
    verdict = "same" if comparison.equal else "parted"
    yield f'<h1 class="{verdict}">{_text(headline(comparison))}</h1>'
    if not comparison.equal:
        yield f"<p>{_text(identical(comparison))}</p>"
    yield "<table><thead><tr><th></th><th>A</th><th>B</th></tr></thead><tbody>"
    for name, one, other in _subjects(comparison):
        yield _row(name, _text(one), _text(other))
    yield "</tbody></table>"
    for number, difference in enumerate(comparison.differences):
        yield f"<h2>{'First difference' if not number else 'Also different'}: {_text(difference.aspect.name)}</h2>"
        yield f"<p>{_text(when(difference.moment, difference.step, comparison))}</p>"
        yield from _difference(difference, comparison)
    yield "<h2>Compared</h2><table><tbody>"
    for tally in comparison.tallies:
        mark = ' class="differs"' if tally.differ else ""
        yield f"<tr{mark}><th>{_text(tally.aspect.plural)}</th><td>{_text(tally_words(tally))}</td></tr>"
    yield "</tbody></table>"
    if comparison.ignored:
        yield f"<p>Ignored: {_text(', '.join(comparison.ignored))}</p>"
    if comparison.edits:
        yield "<h2>Sources</h2>"
        for edit in comparison.edits:
            yield from _edit(edit, comparison)
    for note in comparison.notes:
        yield f"<p>{_text(note)}</p>"


def _subjects(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    first, second = comparison.first, comparison.second
    yield "recording", first.path, second.path
    yield "program", first.program, second.program
    if first.step is not None:
        yield "step", str(first.step), str(second.step)
    for one in comparison.circumstances:
        yield one.name, one.first, one.second


def _difference(difference: Difference, comparison: Comparison) -> Iterator[str]:
    folders = comparison.first.folder, comparison.second.folder
    yield '<table class="sides"><thead><tr><th>A</th><th>B</th></tr></thead><tbody>'
    for left, right in _beside(difference):
        cells = (_cell(left, folders[0], right is None), _cell(right, folders[1], left is None))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"
    if difference.edit is not None:
        yield f"<p>goes back to the edit at {_text(place(difference.edit.site, folders[1]))}</p>"
        yield from _edit(difference.edit, comparison)


def _beside(difference: Difference) -> list[tuple[Side | None, Side | None]]:
    """The rows of both runs, next to each other."""
    if not difference.rows:
        return [(difference.first, difference.second)]
    before = [(side, side) for mark, side in difference.rows if mark == " "]
    gone = [side for mark, side in difference.rows if mark == "-"]
    new = [side for mark, side in difference.rows if mark == "+"]
    first_change = next((at for at, (mark, _) in enumerate(difference.rows) if mark != " "), 0)
    height = max(len(gone), len(new))
    changed: list[tuple[Side | None, Side | None]] = [
        (gone[at] if at < len(gone) else None, new[at] if at < len(new) else None) for at in range(height)
    ]
    return [*before[:first_change], *changed, *before[first_change:]]


def _cell(side: Side | None, folder: str, alone: bool) -> str:
    if side is None:
        return '<td class="none"></td>'
    source = f"<code>{_text(side.site.source)}</code>" if side.site is not None and side.site.source else ""
    words = side_words(side, folder) if side.words else NOTHING
    return f"<td{' class=differs' if alone else ''}>{_text(words)}{source}</td>"


def _edit(edit: Edit, comparison: Comparison) -> Iterator[str]:
    yield f"<h3>{_text(short_file(edit.site.file, comparison.second.folder))}</h3>"
    yield '<table class="sides code"><tbody>'
    for at in range(max(len(edit.texts), len(edit.other_texts))):
        cells = []
        for first, texts in ((edit.first, edit.texts), (edit.other_first, edit.other_texts)):
            if at < len(texts):
                cells.append(f"<th>{first + at}</th><td><code>{_text(texts[at])}</code></td>")
            else:
                cells.append('<th></th><td class="none"></td>')
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _row(name: str, one: str, other: str) -> str:
    mark = ' class="differs"' if one != other else ""
    return f"<tr{mark}><th>{_text(name)}</th><td>{one}</td><td>{other}</td></tr>"


def _text(text: str) -> str:
    return escape(printable(text))
