"""`gradscope open` and `graph --fmt html`, as typed: what the page holds, where it lies, which browser starts."""

from __future__ import annotations

import base64
import gzip
import json
import re
import stat
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from click.testing import CliRunner, Result

from gradscope.commands import graph, open
from gradscope.errors import GradscopeError, NothingCheckedError, UsageError
from tests import by_hand
from tests.commands.test_graph import gradscope
from tests.recordings import write
from tests.torch_versions import needs_saved_tensors

SOURCE = "\n".join(f"line {number}" for number in range(60))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Twelve calls, one graph each."""
    calls = [
        replace(by_hand.small(), backward=replace(by_hand.small().backward, number=at, step=at)) for at in range(12)
    ]
    return write(tmp_path / "train.py.4242.gscope", *calls, sources={"/project/train.py": SOURCE})


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The files that a browser was asked to show; temporary files lie in the test's own folder."""
    found: list[Path] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(Path(unquote(urlparse(address).path))) or True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return found


def run(command: Any, *arguments: object) -> Result:
    """Run it in this process; errors come out as they are."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if isinstance(result.exception, GradscopeError):
        raise result.exception
    assert result.exception is None
    return result


def data(page: str) -> dict[str, Any]:
    """What a page holds."""
    (letters,) = re.findall(r'id="data">([A-Za-z0-9+/=]*)<', page)
    return dict(json.loads(gzip.decompress(base64.b64decode(letters))))


def test_the_page_opens_from_a_temporary_file_of_its_user(recording: Path, shown: list[Path]) -> None:
    result = run(open.command, recording)
    (path,) = shown
    assert path.name.startswith("train.py.4242.")
    assert path.suffix == ".html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"wrote {path}" in result.stderr
    assert data(path.read_text(encoding="utf-8"))["program"] == "train.py"


def test_the_page_opens_from_a_named_file(recording: Path, shown: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "a page #1.html"
    run(open.command, recording, "-o", output)
    assert shown == [output]
    with pytest.raises(UsageError, match="exists"):
        run(open.command, recording, "-o", output)
    assert run(open.command, recording, "-o", output, "-f", "-q").stderr == ""


def test_a_browser_cannot_open_standard_output(recording: Path) -> None:
    with pytest.raises(UsageError, match="standard output"):
        run(open.command, recording, "-o", "-")


def test_the_browser_of_the_environment_is_started(recording: Path, tmp_path: Path) -> None:
    browser, output = tmp_path / "browser", tmp_path / "page.html"
    browser.write_text(f"#!/bin/sh\nprintf %s \"$1\" > '{tmp_path / 'address'}'\n")
    browser.chmod(0o755)
    done = gradscope("open", recording, "-q", "-o", output, BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "address").read_text() == output.as_uri()


def test_without_a_browser_it_says_where_the_page_is(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    output = recording.parent / "page.html"
    assert f"open {output} in one" in run(open.command, recording, "-q", "-o", output).stderr


def test_other_calls_are_held_up_to_a_number(recording: Path, tmp_path: Path) -> None:
    def held(*arguments: object) -> tuple[list[int], int, int]:
        found = data(run(graph.command, recording, "--fmt", "html", *arguments).stdout)
        return [row["number"] for row in found["backwards"]], found["chosen"], found["left_out"]

    assert held() == (list(range(3, 12)), 8, 3)
    assert held("--backward", "5", "--others", "2") == ([4, 5, 6], 1, 9)
    assert held("--backward", "0", "--others", "0") == ([0], 0, 11)
    assert held("--others", "99")[2] == 0


def test_sources_are_in_it_unless_they_are_not_wanted(recording: Path) -> None:
    assert data(run(graph.command, recording, "--fmt", "html").stdout)["sources"][0][1] == SOURCE
    assert "line 18" not in json.dumps(data(run(graph.command, recording, "--fmt", "html", "--no-source").stdout))


def test_the_suffix_says_that_it_is_a_page(recording: Path, tmp_path: Path) -> None:
    run(graph.command, recording, "-o", tmp_path / "graph.html")
    assert (tmp_path / "graph.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_page_of_one_level(recording: Path) -> None:
    found = data(run(graph.command, recording, "--fmt", "html", "--level", "2").stdout)
    assert [len(columns["name"]) for columns in found["graphs"]] == [1]


def test_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(NothingCheckedError):
        run(open.command, write(tmp_path / "a.gscope"))


@needs_saved_tensors
def test_findings_of_a_faulty_script_lead_to_a_node(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    script = root / "sample_scripts" / "faults" / "inplace" / "activation_elsewhere" / "main.py"
    traced = gradscope("trace", "-q", "-o", tmp_path / "a.gscope", script, PYTHONWARNINGS="ignore")
    assert traced.returncode == 1
    found = data(run(graph.command, tmp_path / "a.gscope", "--fmt", "html").stdout)
    first = found["findings"][0]
    assert first["code"] == "GS701"
    assert first["node"] is not None
    file, line, *_ = found["frames"][first["frame"]]
    texts = dict(found["sources"])
    assert "inplace=True" in texts[file].split("\n")[line - 1]
    assert Path(found["strings"][file]).name == "blocks.py"
