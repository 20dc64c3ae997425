"""What ended a run is named where no finding explains it, and only there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope
from tests.capture.side_by_side import SideBySide

TRAINS = """import torch
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.sum().backward()
"""
ENDS = {
    "of the data": (
        "rows = [1, 2]\nrows[5]",
        {"exception": "IndexError", "message": "list index out of range", "line": 6},
    ),
    "of autograd": ("y.sum().backward()", None),
    "Ctrl-C": ("raise KeyboardInterrupt", None),
    "its own status": ("raise SystemExit(3)", None),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_ended_the_run(nursery: SideBySide, tmp_path: Path, end: str) -> None:
    words, expected = ENDS[end]
    script = tmp_path / "train.py"
    script.write_text(TRAINS + words + "\n")
    _, path = nursery.traced(tmp_path, script)
    told = json.loads(CliRunner().invoke(gradscope, ["explain", "--fmt", "json", str(path)]).stdout).get("unexplained")
    seen = told and {"exception": told["exception"], "message": told["message"], "line": told["site"]["line"]}
    assert seen == expected
    text = CliRunner().invoke(gradscope, ["explain", str(path)]).stdout
    assert ("not explained: the run ended with" in text) == (expected is not None)
