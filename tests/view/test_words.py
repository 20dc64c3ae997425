"""Numbers and places as people read them."""

from __future__ import annotations

import pytest

from gradscope.model.printable import printable
from gradscope.model.site import Site
from gradscope.view.words import LONGEST_MESSAGE, first_line, leaf_words, place, seconds, short_file, size


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (25_600, "26 kB"),
        (999_600, "1.0 MB"),
        (7_800_000, "7.8 MB"),
        (2 * 10**12, "2.0 TB"),
        (10**18, "1000000 TB"),
    ],
)
def test_sizes(count: int, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0.00031, "310 us"), (0.012, "12 ms"), (3.44, "3.44 s"), (7200, "120 min")]
)
def test_durations(value: float, words: str) -> None:
    assert seconds(value) == words


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("/users/me/src/train.py", "src/train.py:3"),
        ("/usr/lib/x.py", "x.py:3"),
        ("<string>", "<string>:3"),
        ("/users/mean/x.py", "x.py:3"),
    ],
)
def test_places_are_relative_to_the_run(file: str, words: str) -> None:
    assert place(Site(file, 3), "/users/me") == words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb", "a\\nb"),
        ("\u202egpj", "\\u202egpj"),
        ("\u05e9\u05dc", "\u05e9\u05dc"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\udcff", "\\udcff"),
    ],
)
def test_nothing_printed_acts_on_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (None, ""),
        ("", ""),
        ("ValueError: no\nmore", "ValueError: no"),
        ("KeyboardInterrupt: ", "KeyboardInterrupt"),
        ("E: " + "x" * 200, "E: " + "x" * (LONGEST_MESSAGE - 4) + "…"),
    ],
)
def test_messages_of_exceptions_are_one_short_line(message: str | None, words: str) -> None:
    assert first_line(message) == words


def test_a_leaf_that_the_recorder_could_not_name_says_so() -> None:
    assert (leaf_words("leaf"), leaf_words("layers.0.bias")) == ("unnamed leaf", "layers.0.bias")


@pytest.mark.parametrize(
    ("file", "folder", "shown"),
    [
        ("/users/me/src/models/block.py", "/users/me/src", "models/block.py"),
        ("/users/me/other/block.py", "/users/me/src", "block.py"),
        ("/users/me/other/block.py", "", "block.py"),
        ("/b/dist-packages/torch/nn/functional.py", "/users/me/src", "torch/nn/functional.py"),
        ("/users/me/src/.venv/lib/python3.11/site-packages/six.py", "/users/me/src", "six.py"),
        ("/users/me/src/site-packages", "/users/me/src", "site-packages"),
        ("<string>", "/users/me/src", "<string>"),
    ],
)
def test_a_file_is_shown_by_what_tells_it_from_others(file: str, folder: str, shown: str) -> None:
    assert short_file(file, folder) == shown
