"""Words can be read on whatever stands behind them, in both themes: 4.5 to 1, as the guidelines (AA) ask."""

from __future__ import annotations

import re

import pytest

from gradscope.render.page_parts import asset
from gradscope.view.role import Role
from gradscope.view.theme import DARK, LIGHT, THEMES, Theme, look
from tests.view.test_heat import contrast

AA = 4.5
BEHIND = ("paper", "desk")  # of the page's words
WORDS = ("ink", "quiet", "accent", "bad", "warn")
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)


def page_colours(theme: Theme) -> dict[str, str]:
    """The colours that the page's style names."""
    pattern = r":root \{(.*?)\}" if theme is LIGHT else r':root\[data-theme="dark"\] \{(.*?)\}'
    (rules,) = re.findall(pattern, asset("page.css"))
    found = dict(re.findall(r"--(\w+): (#\w+)", rules))
    return {
        name: value if len(value) == 7 else "#" + "".join(2 * letter for letter in value[1:])
        for name, value in found.items()
    }


@themes
def test_words_of_the_page(theme: Theme) -> None:
    colours = page_colours(theme)
    pairs = [(one, other) for one in WORDS for other in BEHIND] + [("ink", "mark"), ("quiet", "mark")]
    assert [pair for pair in pairs if contrast(*(colours[name] for name in pair)) < AA] == []


@themes
def test_words_in_boxes_and_frames(theme: Theme) -> None:
    fills = {role.name: look(theme, {role})[0].fill for role in theme.looks}
    strips = {role.name: theme.looks[role].strip for role in Role if role in theme.looks and theme.looks[role].strip}
    behind = {**fills, "frame": theme.frame, "paper": theme.paper}
    weak = [
        name for name, fill in behind.items() for words in (theme.ink, theme.quiet) if contrast(words, str(fill)) < AA
    ]
    assert weak == []
    assert [name for name, strip in strips.items() if contrast(theme.ink, str(strip)) < AA] == []


def test_both_themes_are_held_to_it() -> None:
    assert set(THEMES) == {"light", "dark"}
