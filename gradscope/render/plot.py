"""Curves as a picture: norms over the backward calls, on a logarithmic scale, one line a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from gradscope.model.printable import printable
from gradscope.view.words import TIMES

WIDTH, HEIGHT = 900, 460
LEFT, TOP, RIGHT, BOTTOM = 70, 40, 320, 40
MOST = 24
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#8c510a")  # for all eyes
STYLE = """text{font:12px system-ui,sans-serif;fill:#1f2328}.grid{stroke:#d0d7de}.title{font-weight:600;font-size:14px}
polyline{fill:none;stroke-width:1.6}svg{background:#fff}
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}}"""


def render(curves: Mapping[str, Sequence[float]], title: str) -> str:
    """An svg. Of more than 24 curves those with the greatest values are drawn, and the rest counted."""
    ranked = sorted(curves, key=lambda name: -max(_known(curves[name]), default=0.0))[:MOST]
    shown = {name: curves[name] for name in curves if name in ranked}
    values = [value for curve in shown.values() for value in _known(curve)]
    low, high = (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))) if values else (0, 1)
    high = max(high, low + 1)
    longest = max((len(curve) for curve in shown.values()), default=1)
    left = len(curves) - len(shown)
    parts = [_text(LEFT, 24, title, "title"), *_grid(low, high, longest)]
    for place, (name, curve) in enumerate(shown.items()):
        colour, dash = COLOURS[place % len(COLOURS)], ("none", "6 3", "2 3")[place // len(COLOURS)]
        parts += _curve(curve, low, high, longest, f'stroke="{colour}" stroke-dasharray="{dash}"')
        parts += _key(place, name, f'stroke="{colour}" stroke-dasharray="{dash}"')
    if left:
        parts.append(_text(WIDTH - RIGHT + 50, TOP + 16 * (len(shown) + 1), f"and {left} more with smaller values"))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<style>{STYLE}</style>\n{body}\n</svg>\n'


def _known(curve: Sequence[float]) -> list[float]:
    """What a logarithmic scale can show."""
    return [value for value in curve if math.isfinite(value) and value > 0]


def _grid(low: int, high: int, longest: int) -> list[str]:
    """A line for every power of ten (every few of many), and the numbers of the first and last call."""
    every = max(1, (high - low) // 8)
    lines = []
    for power in range(low, high + 1, every):
        y = _y(10.0**power, low, high)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(LEFT - 8, y + 4, f"1e{power}", anchor="end"))
    bottom = HEIGHT - BOTTOM + 18
    ends = {_x(0, longest): "1", _x(longest - 1, longest): str(longest)}
    return [*lines, *(_text(x, bottom, words, anchor="middle") for x, words in ends.items())]


def _curve(curve: Sequence[float], low: int, high: int, longest: int, stroke: str) -> list[str]:
    """Lines through what is known; a cross on the axis where a value is NaN, infinite or zero."""
    pieces: list[list[str]] = [[]]
    crosses = []
    for place, value in enumerate(curve):
        x = _x(place, longest)
        if math.isfinite(value) and value > 0:
            pieces[-1].append(f"{x:.1f},{_y(value, low, high):.1f}")
        else:
            pieces.append([])
            crosses.append(_text(x, HEIGHT - BOTTOM, TIMES, anchor="middle"))
    lines = [f'<polyline {stroke} points="{" ".join(points)}"/>' for points in pieces if len(points) > 1]
    dots = [
        f'<circle {stroke} r="2" cx="{x}" cy="{y}"/>'
        for points in pieces
        if len(points) == 1
        for x, y in (points[0].split(","),)
    ]
    return [*lines, *dots, *crosses]


def _key(place: int, name: str, stroke: str) -> list[str]:
    x, y = WIDTH - RIGHT + 20, TOP + 16 * place + 4
    line = f'<line {stroke} stroke-width="2" x1="{x}" x2="{x + 22}" y1="{y}" y2="{y}"/>'
    return [line, _text(x + 30, y + 4, name if len(name) <= 38 else "…" + name[-37:])]


def _x(place: int, longest: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place / (longest - 1) if longest > 1 else 0.5)


def _y(value: float, low: int, high: int) -> float:
    share = (math.log10(value) - low) / (high - low)
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(printable(words))}</text>'
