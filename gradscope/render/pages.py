"""Cuts a picture that is larger than its paper into pages, between boxes: what is read on one page is whole there.

Pages follow each other down the picture, and where it is wide as well, from left to right before that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gradscope.render.picture import Picture, PicturePart
from gradscope.render.shapes import Shape, Words

WHOLE = ("box", "name", "heading", "legend")  # kinds of parts whose words shall not be cut
FULLEST = 0.4  # of a page: a cut higher than this leaves more paper empty than a cut box is worth

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page: the part of the picture that it shows, and its place among the others, `2 of 5`."""

    x: float
    y: float
    width: float
    height: float
    place: str


def leaves(picture: Picture, width: float, height: float) -> list[Leaf]:
    """The picture on pages of a size; one page where it fits."""
    lines = [span for part in picture.parts for span in _spans(part)]
    across = list(pairwise(_cuts([one for one, _ in lines], picture.width, width)))
    down = list(pairwise(_cuts([other for _, other in lines], picture.height, height)))
    count = len(across) * len(down)
    rects = ((left, top, right - left, bottom - top) for top, bottom in down for left, right in across)
    return [Leaf(*rect, f"{number} of {count}") for number, rect in enumerate(rects, 1)]


def _spans(part: PicturePart) -> Iterator[tuple[Span, Span]]:
    """From where to where what must stay whole goes, across and down: a box, each line of words elsewhere."""
    if part.kind not in WHOLE:
        return
    for one in part.shapes:
        if isinstance(one, Shape):
            xs = [x for _, numbers in one.way for x in numbers[::2]]
            ys = [y for _, numbers in one.way for y in numbers[1::2]]
            yield (min(xs), max(xs)), (min(ys), max(ys))
        elif isinstance(one, Words) and part.kind != "heading":  # a heading may be as wide as the picture
            yield (one.x, one.x), (one.y - one.size / 2, one.y + one.size / 2)


def _cuts(spans: Sequence[Span], length: float, room: float) -> list[float]:
    """Where pages of so much room begin and the last one ends: as late as can be, through nothing that is whole."""
    cuts = [0.0]
    ordered = sorted(spans)
    longest = max((end - start for start, end in spans), default=0.0)
    while length - cuts[-1] > room:
        least, cut = cuts[-1] + FULLEST * room, cuts[-1] + room
        while (start := _crossed(ordered, longest, cut)) is not None:
            cut = start - 1.0
        cuts.append(cut if cut > least else cuts[-1] + room)
    return [*cuts, length]


def _crossed(ordered: Sequence[Span], longest: float, cut: float) -> float | None:
    """The start of the first span that a cut goes through."""
    for place in range(bisect_left(ordered, (cut - longest, 0.0)), len(ordered)):
        start, end = ordered[place]
        if start >= cut:
            return None
        if end > cut:
            return start
    return None
