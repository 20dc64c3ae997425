"""Lines are shown of whatever a program runs, where its text can be had."""

import doctest
import linecache
from pathlib import Path

import pytest

from gradscope.store.source_text import text_of


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("loss = 1\n")
    assert text_of(str(tmp_path / "train.py")) == "loss = 1\n"


@pytest.mark.parametrize("name", ["<cell 3>", "/tmp/ipykernel_12/34.py"])
def test_a_cell_is_what_its_notebook_remembers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, name, (9, None, ["loss = 1\n", "y = 2"], name))
    assert text_of(name) == "loss = 1\ny = 2"


def test_a_doctest_is_read_as_doctest_does() -> None:
    seen: list[str | None] = []
    test = doctest.DocTestParser().get_doctest(">>> look('<doctest here[0]>')\n", {"look": look(seen)}, "here", None, 0)
    doctest.DocTestRunner().run(test)
    assert seen == ["look('<doctest here[0]>')\n"]


def look(seen: list[str | None]) -> object:
    return lambda name: seen.append(text_of(name))


@pytest.mark.parametrize("name", ["<string>", "<frozen importlib._bootstrap>", "gone.py", "a\0b", ""])
def test_of_what_nobody_has_there_is_none(name: str) -> None:
    assert text_of(name) is None


def test_an_entry_that_is_not_loaded_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "lazy.py", (lambda: pytest.fail("asked"),))
    assert text_of("lazy.py") is None
