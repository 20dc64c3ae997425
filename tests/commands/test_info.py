"""`gradscope info`, as typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from gradscope.commands.info import command
from gradscope.model.graph import Backward, Graph
from tests import by_hand
from tests.recordings import Writer, write, write_backward, write_graph


def info(path: Path, *arguments: str) -> str:
    result = CliRunner().invoke(command, [str(path), *arguments], catch_exceptions=False)
    return result.stdout


def steps(path: Path, count: int) -> Path:
    """A recording of as many equal steps, and a failing call."""
    writer = Writer(path)
    graph = by_hand.small()
    write_graph(writer, 1, graph)
    for number in range(count):
        write_backward(writer, 1, replace(graph, backward=replace(graph.backward, number=number, step=number)))
    failed = Backward(count, stack=by_hand.line(44), exception="RuntimeError: no grad_fn\nlong story")
    write_backward(writer, None, Graph((), (), failed))
    writer.insert("dropped", "older steps", 3)
    writer.insert("fault", "modules", "it broke", 2)
    for name, text in (
        ("detail", by_hand.RUN.detail),
        ("argv", list(by_hand.RUN.argv)),
        ("environment", {"RANK": "0"}),
    ):
        writer.insert("run", name, json.dumps(text))
    for name in ("cwd", "gradscope", "torch", "python", "platform", "pid", "started", "ended", "status", "duration"):
        writer.insert("run", name, json.dumps(getattr(by_hand.RUN, name)))
    return writer.close()


def test_what_it_says(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    text = info(steps(tmp_path / "a.gscope", 2))
    start, _, rest = text.partition("\n")
    assert start.startswith(f"recording  {tmp_path / 'a.gscope'} (")
    golden("info.txt", rest)


def test_many_equal_calls_are_one_row(tmp_path: Path) -> None:
    lines = info(steps(tmp_path / "a.gscope", 1000)).splitlines()
    rows = lines[lines.index("") + 3 :]
    assert [row.split()[0] for row in rows] == ["0-999", "1000"]


def test_growing_graphs_are_one_row_that_shows_it(tmp_path: Path) -> None:
    graphs = [by_hand.chain(length) for length in range(10, 40)]
    numbered = [replace(graph, backward=replace(graph.backward, number=step)) for step, graph in enumerate(graphs)]
    *_, row = info(write(tmp_path / "a.gscope", *numbered)).splitlines()
    assert row.split()[:9] == ["0-29", "backward", "10", "-", "39", "9", "-", "38", "0"]


def test_json_is_valid(tmp_path: Path) -> None:
    page = json.loads(info(steps(tmp_path / "a.gscope", 1000), "--fmt", "json"))
    assert page["census"]["backwards"] == 1001
    assert page["census"]["dropped"] == {"older steps": 3}
    assert [calls["count"] for calls in page["backwards"]] == [1000, 1]
    assert page["backwards"][0]["site"]["line"] == 40
    assert page["recovered"] is False


def test_a_killed_run_says_so(tmp_path: Path) -> None:
    killed = replace(by_hand.RUN, ended=False, status=None, duration=0.0)
    text = info(write(tmp_path / "a.gscope", by_hand.small(), run=killed))
    assert "no clean end: killed, or still running; recorded up to 12 ms" in text


def test_an_exception_says_so(tmp_path: Path) -> None:
    text = info(write(tmp_path / "a.gscope", run=replace(by_hand.RUN, status=1, exception="ValueError: bad\nmore")))
    assert "after 12.5 s with ValueError: bad" in text


def test_hostile_names_do_not_act_on_the_terminal(tmp_path: Path) -> None:
    text = info(
        write(tmp_path / "a.gscope", by_hand.hostile(), run=replace(by_hand.RUN, argv=by_hand.HOSTILE, cwd="\x1b[2J"))
    )
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
