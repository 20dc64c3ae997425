"""Commands that take several recordings answer damaged ones with a sentence, as those that take one do."""

import random
import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope
from gradscope.errors import GradscopeError, UnreadableError

MUTANTS = 25
SCRIPT = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
model.weight.register_hook(lambda gradient: gradient)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
"""
COMMANDS = (("diff", "good.gscope", "bad.gscope"), ("ranks", "good.gscope", "bad.gscope"), ("export", "bad.gscope"))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "good.gscope"
    subprocess.run(
        [sys.executable, "-m", "gradscope", "trace", "-q", "-o", path, "-c", SCRIPT], check=True, capture_output=True
    )
    return path


def answer(arguments):
    """Run a command; only gradscope's own errors may come out of it."""
    more = ["--to", "perfetto", "-f", "-q"] if arguments[0] == "export" else ["-q"]
    with_errors = CliRunner().invoke(gradscope, [*arguments, *more], standalone_mode=False)
    error = with_errors.exception
    assert error is None or isinstance(error, GradscopeError), repr(error)
    return error


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_damaged_values_are_answered(good, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.gscope").write_bytes(good.read_bytes())
    chosen = random.Random(19)
    for _ in range(MUTANTS):
        (tmp_path / "bad.gscope").write_bytes(good.read_bytes())
        connection = sqlite3.connect(tmp_path / "bad.gscope")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = chosen.choice([one for one in tables if connection.execute(f"SELECT 1 FROM {one}").fetchone()])
        column = chosen.choice([row[1] for row in connection.execute(f"PRAGMA table_info({table})")])
        value = chosen.choice((-1, 10**12, "text", 1.5, b"bytes", "[]", "[[0]]", '{"a": 1}'))
        try:
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
            connection.commit()
        except sqlite3.Error:
            continue
        finally:
            connection.close()
        answer(arguments)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_what_is_no_recording_is_answered(good, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.gscope").write_bytes(good.read_bytes())
    (tmp_path / "bad.gscope").write_bytes(b"nothing of the kind")
    assert isinstance(answer(arguments), UnreadableError)
