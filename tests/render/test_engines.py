"""Engines are children with limits; one that fails gives way to the next, and which one drew is said."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradscope.errors import UsageError
from gradscope.render import engines, png, programs
from gradscope.render.layout.geometry import Layout
from gradscope.view.drawing import Drawing
from gradscope.view.style import Direction, Style
from tests import by_hand
from tests.render.test_layout import boxes, check

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
Install = Callable[[str, str], Path]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """A machine without engines, and a function that installs one: a shell script."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    programs.starts.cache_clear()

    def install(name: str, body: str) -> Path:
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\n[ "$1" = -V ] && exit 0\n{body}\n')
        program.chmod(0o755)
        return program

    return install


def laid_out(drawing: Drawing, engine: str = "auto") -> tuple[Layout, list[str]]:
    """A layout, and what was said."""
    said: list[str] = []
    sizes = [(80.0, 30.0)] * len(drawing.boxes)
    return engines.lay_out(drawing, sizes, Style(engine=engine, say=said.append)), said


def test_without_programs_the_built_in_layout_draws(alone: Install) -> None:
    layout, said = laid_out(by_hand.everything())
    check(by_hand.everything(), layout)
    assert said == ["the built-in layout drew 9 boxes"]


@pytest.mark.parametrize("engine", ["dot", "pure"])
def test_an_engine_that_is_asked_for_must_be_there(engine: str, alone: Install) -> None:
    with pytest.raises(UsageError, match="not installed") as caught:
        laid_out(by_hand.everything(), engine)
    assert "install" in caught.value.hint


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("/bin/echo Error: no memory >&2; exit 1", "Error: no memory"),
        ("exit 3", "ended with status 3"),
        ("kill -SEGV $$", "ended with status -11"),
        ("/bin/echo not json", "cannot be read"),
        ('/bin/echo \'{"bb": "0,0,1,1"}\'', "cannot be read"),
        ("exec /bin/sleep 30", "was not done after 0 s"),
    ],
)
def test_an_engine_that_fails_gives_way_and_says_why(
    body: str, reason: str, alone: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone("dot", body)
    assert programs.find("dot") is not None
    if "sleep" in body:
        monkeypatch.setattr(programs, "PATIENCE", 0.4)
    layout, (first, second) = laid_out(by_hand.everything())
    assert reason in first
    assert second == "the built-in layout drew 9 boxes"
    check(by_hand.everything(), layout)
    with pytest.raises(UsageError, match="dot"):
        laid_out(by_hand.everything(), "dot")


def test_a_program_that_does_not_start_counts_as_missing(alone: Install, tmp_path: Path) -> None:
    (tmp_path / "dot").write_text("#!/no/such/shell\n")
    (tmp_path / "dot").chmod(0o755)
    assert laid_out(by_hand.everything())[1] == ["the built-in layout drew 9 boxes"]


def test_large_drawings_are_not_given_to_slow_engines(alone: Install) -> None:
    alone("dot", "exit 1")
    alone("graphviz-pure", "exit 1")
    count = engines.MOST_BOXES
    few, many = (Drawing("", boxes(number), ()) for number in (count, count + 1))
    assert [line.split()[0] for line in laid_out(few)[1]] == ["dot", "graphviz-pure", "the"]
    assert [line.split()[0] for line in laid_out(many)[1]] == ["the"]


def test_a_picture_that_is_too_large_to_look_at_says_what_helps(alone: Install) -> None:
    drew, helps = laid_out(Drawing("", boxes(engines.MANY + 1), ()))[1]
    assert drew == "the built-in layout drew 5,001 boxes"
    assert "--depth, --focus and --fmt html" in helps


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a child that runs")
def test_a_child_may_not_take_all_memory(alone: Install) -> None:
    program = alone("dot", "read line; ulimit -v")
    assert int(programs.run(str(program), [], "")) == programs.MOST_MEMORY // 1024


@needs_dot
@pytest.mark.parametrize("direction", list(Direction), ids=lambda one: one.value)
def test_dot_lays_out_what_the_built_in_layout_does(direction: Direction) -> None:
    said: list[str] = []
    drawing = by_hand.everything()
    style = Style(engine="dot", direction=direction, say=said.append)
    check(drawing, engines.lay_out(drawing, [(120.0, 40.0)] * len(drawing.boxes), style), near=1.0)
    assert said == ["dot drew 9 boxes"]


def test_png_without_an_engine_says_what_helps(alone: Install) -> None:
    with pytest.raises(UsageError, match="no engine here draws a png") as caught:
        png.picture(by_hand.everything(), Style())
    assert all(word in caught.value.hint for word in ("apt-get install graphviz", "gradscope-cli[png]", "--fmt svg"))
    with pytest.raises(UsageError, match="built-in engine draws no png"):
        png.picture(by_hand.everything(), Style(engine="builtin"))


def test_a_png_that_is_none_is_refused(alone: Install) -> None:
    alone("dot", "/bin/echo hello")
    with pytest.raises(UsageError, match="9 boxes became no png: dot wrote something that is no png"):
        png.picture(by_hand.everything(), Style())


@needs_dot
def test_a_png_that_would_be_too_large_has_fewer_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "LARGEST", 500)
    said: list[str] = []
    found = png.picture(by_hand.everything(), Style(engine="dot", say=said.append))
    assert max(png.sides(found)) < 600
    assert "dots an inch instead of 144" in said[0]
