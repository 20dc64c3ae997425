"""Text for terminals and files whose encoding lacks some characters: rules, branches and arrows become ASCII.

Each becomes one character, so that columns stay where they are; what has no likeness is escaped.
"""

from __future__ import annotations

import codecs

NAME = "gradscope"
LIKENESS = {
    **dict(zip("─│├└┌┐┘┤┬┴┼━", "-||`.,'|+++=", strict=True)),
    **dict(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True)),
    **dict(zip("→←↑↓·…⋮—≤≥≈", "><^v-~:-<>~", strict=True)),
    **{"\N{MULTIPLICATION SIGN}": "x", "\N{EN DASH}": "-"},
    **{"\N{LEFT SINGLE QUOTATION MARK}": "'", "\N{RIGHT SINGLE QUOTATION MARK}": "'"},
}


def encoded(text: str, encoding: str) -> bytes:
    """The text in an encoding that may not have all of its characters."""
    return text.encode(encoding, NAME)


def _likeness(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = (LIKENESS.get(letter) or _escaped(letter) for letter in error.object[error.start : error.end])
    return "".join(found), error.end


def _escaped(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(NAME, _likeness)
