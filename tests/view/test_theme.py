"""Every role looks like something on light and on dark paper, and words can be read on it."""

from __future__ import annotations

from itertools import combinations

import pytest

from gradscope.view.role import Role
from gradscope.view.theme import DARK, LIGHT, MARKS, THEMES, Theme, look

both = pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG has it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, brighter = sorted((brightness(one), brightness(other)))
    return (brighter + 0.05) / (darker + 0.05)


def test_both_themes_know_the_same_roles() -> None:
    assert list(LIGHT.looks) == list(DARK.looks)
    assert set(MARKS) <= set(LIGHT.looks)


@both
def test_words_can_be_read_on_every_colour(theme: Theme) -> None:
    papers = [theme.paper, theme.frame, *(paper for one in theme.looks.values() for paper in (one.fill, one.strip))]
    assert [paper for paper in papers if paper and contrast(theme.ink, paper) < 4.5] == []
    assert contrast(theme.quiet, theme.paper) >= 4.5


@both
def test_no_two_roles_of_a_box_differ_by_colour_alone(theme: Theme) -> None:
    """Those that do are said by words in the box: its name, or what an operator does."""
    said = {Role.PLAIN, Role.VIEW, Role.OPERATOR, Role.ADDITION, Role.HOOKED}
    marked = [role for role in theme.looks if role not in said and theme.looks[role].fill]
    alike = [
        (one, other)
        for one, other in combinations(marked, 2)
        if look(theme, {one})[1] == look(theme, {other})[1] and theme.looks[one].fill != theme.looks[other].fill
    ]
    assert alike == []


def test_the_last_role_in_the_table_wins() -> None:
    colours, mark = look(LIGHT, {Role.SAVED, Role.CUSTOM, Role.FINDING})
    assert colours.fill == LIGHT.looks[Role.CUSTOM].fill
    assert colours.border == LIGHT.looks[Role.FINDING].border
    assert (mark.shape, mark.line, mark.width) == ("hexagon", "solid", 3)
