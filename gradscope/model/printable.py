"""Text for a terminal: names come from programs and files, and control characters in them would act on the screen."""

from __future__ import annotations

import unicodedata

# Joiners and variation selectors hold emoji and several scripts together; they move nothing on the screen.
KEPT = frozenset("\u200c\u200d\ufe0e\ufe0f")
ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str) -> str:
    """The text with control, bidirectional-override and surrogate characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(character) for character in text)


def _escape(character: str) -> str:
    if character in KEPT or unicodedata.category(character) not in ACTING:
        return character
    return character.encode("unicode_escape").decode("ascii")
