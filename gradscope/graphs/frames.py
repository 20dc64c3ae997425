"""Takes away frames that hold one thing only: its box, or the frame inside, carries their name instead."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gradscope.model.reduced import Frame, Piece, PieceKind, Reduced


def without_lone_frames(reduced: Reduced) -> Reduced:
    """The same with fewer frames."""
    pieces, frames = list(reduced.pieces), list(reduced.frames)
    held = {piece.frame: place for place, piece in enumerate(pieces) if piece.kind is PieceKind.NODE}
    inside = {frame.around: number for number, frame in enumerate(frames)}
    counts = Counter(piece.frame for piece in pieces) + Counter(frame.around for frame in frames)
    gone: set[int] = set()
    for number in range(len(frames) - 1, -1, -1):  # the innermost first
        frame = frames[number]
        if counts[number] != 1 or not frame.group.module_class:
            continue
        if number in held:
            piece = pieces[held[number]]
            pieces[held[number]] = replace(piece, frame=frame.around, calls=(*frame.outer, frame.group, *piece.calls))
            held[frame.around] = held[number]
        elif number in inside and frames[inside[number]].group.module_class:
            inner = frames[inside[number]]
            frames[inside[number]] = replace(inner, around=frame.around, outer=(frame.group, *inner.outer))
            inside[frame.around] = inside[number]
        else:
            continue
        gone.add(number)
    return _numbered(reduced, pieces, frames, gone)


def _numbered(reduced: Reduced, pieces: list[Piece], frames: list[Frame], gone: set[int]) -> Reduced:
    """Number what is left anew."""
    left = [number for number in range(len(frames)) if number not in gone]
    new: dict[int | None, int | None] = {old: number for number, old in enumerate(left)}
    new[None] = None
    return replace(
        reduced,
        pieces=tuple(replace(piece, frame=new[piece.frame]) for piece in pieces),
        frames=tuple(replace(frames[old], around=new[frames[old].around]) for old in left),
    )
