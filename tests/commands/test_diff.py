"""`gradscope diff`, as typed."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope
from gradscope.errors import UsageError
from tests.torch_versions import needs_saved_tensors

PLAIN = """
import sys
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
{wrap}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    {line}
    optimizer.step()
"""
LINE = "model(torch.ones(2, 3)).square().sum().backward()"
PROGRAMS = {
    "plain": {"line": LINE, "wrap": ""},
    "other": {"line": LINE.replace("square", "exp"), "wrap": ""},
    "seed": {"line": LINE, "wrap": "torch.nn.init.normal_(model[0].weight)"},
    "cast": {"line": LINE.replace("(2, 3)", "(2, 3).bfloat16().float()").replace("ones", "zeros"), "wrap": ""},
    "uncast": {"line": LINE.replace("ones", "zeros"), "wrap": ""},
    "compiled": {"line": LINE, "wrap": "model = torch.compile(model, backend='aot_eager')"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    for name, parts in PROGRAMS.items():
        (folder / f"{name}.py").write_text(PLAIN.format(**parts))
        command = [sys.executable, "-m", "gradscope", "trace", "-q", "-o", f"{name}.gscope", f"{name}.py"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return folder


def run(folder, *arguments):
    typed = [str(folder / one) if one.endswith(".gscope") else one for one in arguments]
    return CliRunner().invoke(gradscope, ["diff", *typed], catch_exceptions=False, standalone_mode=False)


def asked(folder, *arguments):
    return json.loads(run(folder, *arguments, "--fmt", "json").stdout)


def test_exits_with_0_for_equal_runs(folder):
    assert run(folder, "plain.gscope", "plain.gscope").return_value == 0


def test_exits_with_1_for_runs_that_differ(folder):
    assert run(folder, "plain.gscope", "other.gscope").return_value == 1


def test_says_how_far_the_runs_are_identical(folder):
    assert "identical up to operator" in run(folder, "plain.gscope", "other.gscope").stdout


def test_json_names_the_line(folder):
    found = asked(folder, "plain.gscope", "other.gscope")
    assert found["differences"][0]["site"]["source"] == PROGRAMS["other"]["line"]


def test_json_tells_what_is_equal(folder):
    found = asked(folder, "plain.gscope", "seed.gscope", "--ignore", "lines")
    compared = {one["what"]: one["differ"] for one in found["compared"]}
    assert compared["edge"] == 0
    assert compared["weight"] > 0


def test_the_page_shows_both_sides(folder):
    page = run(folder, "plain.gscope", "other.gscope", "--fmt", "html").stdout
    assert "aten.exp.default" in page
    assert "aten.pow.Tensor_Scalar" in page
    assert "<script" not in page


def test_steps_of_one_recording_are_compared(folder):
    assert run(folder, "plain.gscope", "--step", "1:2", "--ignore", "seed").return_value == 0
    assert run(folder, "plain.gscope", "--step", "1:2").return_value == 1


def test_one_step_of_two_recordings_is_compared(folder):
    found = asked(folder, "plain.gscope", "other.gscope", "--step", "2")
    assert found["differences"][0]["step"] == 2


def test_a_step_that_is_not_there_is_refused(folder):
    with pytest.raises(UsageError, match="steps up to 3"):
        run(folder, "plain.gscope", "other.gscope", "--step", "9")


def test_one_recording_alone_is_refused(folder):
    with pytest.raises(UsageError, match="nothing to compare"):
        run(folder, "plain.gscope")


def test_casts_can_be_ignored(folder):
    assert run(folder, "uncast.gscope", "cast.gscope").return_value == 1
    assert run(folder, "uncast.gscope", "cast.gscope", "--ignore", "dtype").return_value == 0


def test_the_seed_is_a_circumstance(folder):
    (folder / "reseeded.py").write_text(PLAIN.format(**PROGRAMS["plain"]).replace("seed(0)", "seed(7)"))
    command = [sys.executable, "-m", "gradscope", "trace", "-q", "-f", "-o", "reseeded.gscope", "reseeded.py"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    found = asked(folder, "plain.gscope", "reseeded.gscope")
    assert {"name": "switch seed", "a": "0", "b": "7"} in found["circumstances"]
    assert found["differences"][0]["what"] == "weight"
    assert run(folder, "plain.gscope", "reseeded.gscope", "--ignore", "seed").return_value == 0


@needs_saved_tensors
def test_a_compiled_run_is_held_against_an_eager_one(folder):
    found = asked(folder, "plain.gscope", "compiled.gscope")
    assert any("only the second run is compiled" in note for note in found["notes"])
    differ = {one["what"]: one["differ"] for one in found["compared"]}
    assert differ["loss"] == 0
    assert differ["gradient"] == 0
