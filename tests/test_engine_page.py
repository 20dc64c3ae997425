"""The examples of docs/engine.md run as written, and the page shows what `gradscope replay` tells of them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

import gradscope
from gradscope.commands.replay import command
from tests.torch_versions import needs_saved_tensors

PAGE = Path(__file__).parent.parent / "docs" / "engine.md"
EXAMPLE = re.compile(
    r"```python\n(?P<program>.*?)```\n\n```\n\$ gradscope replay(?P<options>[^\n]*)\n(?P<told>.*?)```", re.DOTALL
)
EXAMPLES = list(EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")))
TOLD = re.compile(r"#|captured| +(out|queue|hook|inside) |inputs=|as if|\d+ nodes? would|  #|\d+ gradients? computed")
MEASURED = re.compile(r"; norm .*|, about [\d.]+ \w+")
TORCHS_LINE = re.compile(r"(?<=torch/utils/checkpoint\.py:)\d+")  # another in each version


def story(program: str, options: str, folder: Path) -> str:
    """What replay says of the program's last backward, without what was measured."""
    script, recording = folder / "example.py", folder / "run.gscope"
    script.write_text(f"import torch\n{program}", encoding="utf-8")
    with gradscope.record(recording, detail="full", overwrite=True):
        runpy.run_path(str(script))
    said = CliRunner().invoke(command, ["-q", str(recording), *options.split()], catch_exceptions=False).stdout
    return "".join(f"{MEASURED.sub('', line)}\n" for line in said.splitlines() if TOLD.match(line))


@needs_saved_tensors
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_example_tells_what_the_page_shows(number: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    example = EXAMPLES[number]
    told = story(example["program"], example["options"], tmp_path)
    if request.config.getoption("--bless"):
        start = example[0][: example.start("told") - example.start()]
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page.replace(example[0], f"{start}{told}```", 1), encoding="utf-8")
        return
    assert TORCHS_LINE.sub("", told) == TORCHS_LINE.sub("", example["told"]), "if rightly so, run pytest --bless"


def test_the_page_has_an_example_for_each_rule() -> None:
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    without = [section.splitlines()[0] for section in sections if EXAMPLE.search(section) is None]
    assert without == ["Devices", "How this was checked"]
