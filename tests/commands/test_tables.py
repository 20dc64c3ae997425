"""`gradscope times`, `grads`, `memory` and `hooks`, as typed."""

import csv
import io
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradscope.cli import COMMANDS, gradscope
from gradscope.errors import NothingCheckedError, UsageError
from tests import by_hand
from tests.recordings import write
from tests.torch_versions import needs_saved_tensors

TABLES = ("times", "grads", "memory", "hooks")

SCRIPT = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
model[0].weight.register_hook(lambda gradient: gradient * 2)
for _ in range(3):
    model(torch.ones(2, 3)).sum().backward()
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "run.gscope"
    command = [sys.executable, "-m", "gradscope", "trace", "-q", "--detail", "full", "-o", path, "-c", SCRIPT]
    subprocess.run(command, check=True, capture_output=True)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(gradscope, [*arguments], catch_exceptions=False, standalone_mode=False)


@needs_saved_tensors
@pytest.mark.parametrize("name", TABLES)
def test_prints_a_table(name, recording):
    assert len(run(name, recording).stdout.splitlines()) > 2


@needs_saved_tensors
@pytest.mark.parametrize("name", TABLES)
def test_json_is_one_object(name, recording):
    assert json.loads(run(name, recording, "--fmt", "json").stdout)[name]["rows"]


def test_grads_follow_every_parameter_over_the_run(recording):
    rows = json.loads(run("grads", recording, "--fmt", "json").stdout)["grads"]["rows"]
    assert {row["parameter"]: row["calls"] for row in rows} == dict.fromkeys(
        ["0.weight", "0.bias", "2.weight", "2.bias"], 3
    )


def test_memory_agrees_with_info(recording):
    total = json.loads(run("memory", recording, "--fmt", "json").stdout)["memory"]["total"]
    saved = json.loads(run("info", recording, "--fmt", "json").stdout)["backwards"][0]["saved_bytes"]
    assert total["activations"] + total["inputs"] == (saved[0] if isinstance(saved, list) else saved)


@pytest.mark.parametrize("by", ["line", "module", "node", "op", "param"])
def test_the_rows_of_memory_add_up_in_csv(recording, by):
    rows = list(csv.DictReader(io.StringIO(run("memory", recording, "--by", by, "--fmt", "csv").stdout)))
    *rest, total = rows
    assert total[by] == "total"
    for kind in ("activations", "inputs", "parameters", "tensors"):
        assert sum(int(row[kind]) for row in rest) == int(total[kind])


@needs_saved_tensors
def test_memory_says_its_total(recording):
    assert run("memory", recording).stdout.splitlines()[-2].startswith("total  ")


def test_a_recording_without_times_says_what_to_do(tmp_path):
    path = write(tmp_path / "a.gscope", by_hand.small())
    with pytest.raises(NothingCheckedError, match="no times"):
        run("times", str(path))


def test_an_unknown_column_is_named(recording):
    with pytest.raises(UsageError, match="no column speed"):
        run("times", recording, "--sort", "speed")


@pytest.mark.parametrize("name", TABLES)
def test_is_in_the_table_of_commands(name):
    assert name in COMMANDS
