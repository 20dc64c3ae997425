"""`[tool.gradscope]` and GRADSCOPE_* set defaults for every command, and a mistake in them is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gradscope.cli import COMMANDS, Subcommands, gradscope
from gradscope.commands import settings
from gradscope.errors import UsageError
from gradscope.store.reader import load

ROOT = Path(__file__).parent.parent.parent
BACKWARD = "import torch; torch.ones(2, requires_grad=True).sum().backward()"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(settings.PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text: str) -> None:
    Path("pyproject.toml").write_text(text)


def found(name: str) -> dict[str, object]:
    table = gradscope
    assert isinstance(table, Subcommands)
    context = click.Context(table)
    table.resolve_command(context, [name])
    assert context.default_map is not None
    return dict(context.default_map[name])


def test_a_setting_holds_for_every_command_that_has_the_option() -> None:
    write('[tool.gradscope]\nfmt = "json"\nquiet = true\nlevel = "compile"\n')
    assert found("info") == {"fmt": "json", "quiet": True}
    assert found("check-function") == {"fmt": "json", "quiet": True, "level": "compile"}


def test_one_for_a_single_command_beats_one_for_all() -> None:
    write('[tool.gradscope.trace]\ndetail = "full"\nkeep_last = 3\n[tool.gradscope]\ndetail = "nodes"\n')
    assert found("trace") == {"detail": "full", "keep_last": "3"}


def test_the_environment_beats_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[tool.gradscope.trace]\ndetail = "full"\n')
    monkeypatch.setenv("GRADSCOPE_DETAIL", "nodes")
    assert found("trace") == {"detail": "nodes"}
    monkeypatch.setenv("GRADSCOPE_TRACE_DETAIL", "ops")
    assert found("trace") == {"detail": "ops"}
    monkeypatch.setenv("GRADSCOPE_TRACE_DETAIL", "")
    assert found("trace") == {"detail": "nodes"}


def test_the_nearest_file_with_the_section_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write('[tool.gradscope]\nfmt = "json"\n')
    (folder / "package").mkdir()
    monkeypatch.chdir(folder / "package")
    write('[project]\nname = "package"\n')
    assert found("info") == {"fmt": "json"}
    write('[tool.gradscope]\nfmt = "text"\n')
    assert found("info") == {"fmt": "text"}


def test_lists_are_joined_as_on_the_command_line() -> None:
    write('[tool.gradscope.check-function]\nselect = ["GS1", "GS203"]\n')
    assert found("check-function") == {"select": "GS1,GS203"}


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        ('[tool.gradscope]\ndetial = "ops"\n', "there is no detial that", "did you mean detail?"),
        ('[tool.gradscope.trase]\ndetail = "ops"\n', "there is no trase that", "did you mean trace?"),
        ('[tool.gradscope.info]\ndetail = "ops"\n', "there is no detail that", ""),
        ("[tool.gradscope]\nfmt = [1]\n", "neither a text, a number", ""),
        ("[tool.gradscope\n", "is not TOML", ""),
        ('[tool.gradscope]\noutput = "x"\n', "there is no output that", ""),
        ("[tool.gradscope.graph]\nforce = true\n", "there is no force that", ""),
    ],
)
def test_a_mistake_is_one_sentence(text: str, sentence: str, hint: str) -> None:
    write(text)
    with pytest.raises(UsageError) as caught:
        found("info")
    assert sentence in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert hint in caught.value.hint


def test_every_long_option_but_those_that_name_files_can_be_set() -> None:
    for name in COMMANDS:
        command = gradscope.get_command(click.Context(gradscope), name)
        assert command is not None
        known = settings.options_of(command)
        assert not {"output", "force", "help"} & known.keys()
        for option in command.params:
            long = [one for one in option.opts if one.startswith("--")]
            assert not long or long[0] in ("--output", "--force") or option.name in known.values()


def test_a_program_that_records_itself_by_its_environment_has_them_too(folder: Path) -> None:
    write('[tool.gradscope]\nfmt = "json"\n[tool.gradscope.trace]\nkeep-last = 1\n')
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADSCOPE_TRACE": "run.gscope", "GRADSCOPE_DETAIL": "nodes"}
    code = f"import gradscope.autostart\n{BACKWARD}\n{BACKWARD}"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    with load(folder / "run.gscope") as recording:
        assert recording.run().detail == "nodes"
        assert [backward.step for backward in recording.backwards()] == [1]


def test_a_setting_that_cannot_be_does_not_stop_such_a_program(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADSCOPE_TRACE": "run.gscope", "GRADSCOPE_DETAIL": "most"}
    code = f"import gradscope.autostart\n{BACKWARD}\nprint('ran')"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "ran\n"
    assert run.stderr.startswith("gradscope: not recording: Invalid value for '--detail'")
    assert not (folder / "run.gscope").exists()
