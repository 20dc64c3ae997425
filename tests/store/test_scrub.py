"""A scrubbed copy holds nothing of its owner's, and answers the same questions."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import gradscope as library
from gradscope.anomaly import explain
from gradscope.cli import gradscope
from gradscope.errors import UnreadableError, UsageError
from gradscope.model.birth import Birth
from gradscope.model.operation import Block, Operation, Write
from gradscope.model.site import Origin, Site
from gradscope.store.reader import load
from gradscope.store.schema import TABLES
from gradscope.store.scrub import EMPTIED, OWN, REMOVED, SPECIAL
from tests import by_hand
from tests.recordings import write

HOME = "/ho" + "me/alice"
FOLDER = f"{HOME}/secret-plan"
FILE = f"{FOLDER}/src/train_alice.py"
SOURCE = "password = 'swordfish'\n"
RUN = replace(
    by_hand.RUN,
    argv=("src/train_alice.py", "--token=hunter2", "--lr", "0.125", "dataset-alice"),
    cwd=FOLDER,
    environment={"RANK": "17", "TORCH_LOGS": "alice-logs"},
    exception=f"ValueError: cannot open {FOLDER}/data.pt or ~/x.pt or file://{HOME}/y (hunter2, 0.125, train_alice.py)",
)
SECRETS = (
    "alice",
    "secret-plan",
    "hunter2",
    "swordfish",
    "dataset-",
    "src/",
    "alice-logs",
    "--token",
    "data.pt",
    "x.pt",
)


def graph():
    packages = "/opt/python/lib/python3.11/site-packages"
    stack = (
        Site(f"{packages}/torch/_tensor.py", 5, "backward", origin=Origin.TORCH),
        Site("/opt/tools-of-alice/launch.py", 3, "run", origin=Origin.LIBRARY),
        Site(FILE, 7, "main"),
        Site(f"{FOLDER}/src/other.py", 1, "<module>"),
        Site("<string>", 1, "<module>"),
    )
    small = by_hand.small()
    nodes = tuple(replace(node, stack=stack) for node in small.nodes)
    failed = f"FileNotFoundError: {FILE} is not in C:\\Users\\alice\\data.pt"
    return replace(small, nodes=nodes, backward=replace(small.backward, exception=failed))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    block = Block(
        0, (Operation("aten.add_.Tensor", graph().nodes[0].stack, None, None, (Write("self", 3, 0),)),), 0, 0, 1.0
    )
    path = write(tmp_path / "run.gscope", graph(), run=RUN, blocks=(block,), sources={FILE: SOURCE})
    with sqlite3.connect(path) as connection:
        call = json.dumps([{"value": "alice"}, {"value": 3}, {"dtype": "float32", "shape": [2], "note": "alice"}])
        connection.execute("INSERT INTO function_call VALUES ('train.MyFn', ?)", (call,))
        connection.execute("INSERT INTO fault VALUES ('nodes', ?, 2)", (f"OSError: {FOLDER}",))
        connection.execute("INSERT INTO dropped VALUES ('steps', 2)")
        connection.execute("INSERT INTO run VALUES ('host', '\"alice-laptop\"')")
    connection.close()
    return path


@pytest.fixture
def scrubbed(recording: Path) -> Path:
    output = recording.with_name("out.gscope")
    with load(recording) as opened:
        opened.scrub(output)
    return output


def test_nothing_of_the_owners_is_left_in_any_byte(recording: Path, scrubbed: Path) -> None:
    before, after = recording.read_bytes(), scrubbed.read_bytes()
    for secret in map(str.encode, SECRETS):
        assert secret in before
        assert secret not in after
        assert secret.decode().encode("utf-16-le") not in after
    assert b"MeanBackward0" in after


def test_names_of_files_are_replaced_the_same_way_everywhere(scrubbed: Path) -> None:
    with load(scrubbed) as recording:
        (run, graph) = recording.run(), recording.graph(0)
    assert run.argv == ("file-2.py",)
    assert (run.cwd, run.environment) == ("", {})
    files = [site.file for site in graph.nodes[0].stack]
    assert files == ["torch/_tensor.py", "library-1.py", "file-2.py", "file-1.py", "<string>"]
    assert graph.backward.exception == "FileNotFoundError: file-2.py is not in <path>"
    assert run.exception == "ValueError: cannot open <path> or <path> or <path> (<argument>, 0.125, file-2.py)"


def test_the_graph_is_the_same_but_for_its_files(recording: Path, scrubbed: Path) -> None:
    def without_files(path: Path) -> str:
        with load(path) as opened:
            graph = opened.graph(0)
        return re.sub(r"file='[^']*'|source=('[^']*'|None)|exception='[^']*'", "", repr(graph))

    assert without_files(scrubbed) == without_files(recording)


def test_totals_faults_and_calls_are_the_same(recording: Path, scrubbed: Path) -> None:
    with load(recording) as before, load(scrubbed) as after:
        assert replace(after.census(), bytes=0) == replace(before.census(), bytes=0)
        assert [fault.message for fault in after.faults()] == ["OSError: <path>"]
        assert len(list(after.blocks())) == 1
    connection = sqlite3.connect(scrubbed)
    ((_, arguments),) = connection.execute("SELECT * FROM function_call").fetchall()
    connection.close()
    assert json.loads(arguments) == [{}, {"value": 3}, {"dtype": "float32", "shape": [2]}]


def test_every_text_of_the_schema_has_its_rule() -> None:
    """A new text column is a message until someone has thought of it: then it stands here."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    texts = {
        (table, column[1])
        for table in tables
        for column in connection.execute(f"PRAGMA table_info({table})")
        if column[2] == "TEXT"
    }
    connection.close()
    messages = {("fault", "message"), ("dropped", "reason")}
    ruled = {one for one in texts if one[0] in REMOVED or one[0] in SPECIAL}
    assert texts - ruled - OWN - EMPTIED.keys() == messages


def test_values_of_tensors_are_removed_and_the_finding_stays(tmp_path: Path) -> None:
    """What an operator that gave a NaN was given is in the recording, and not in the copy."""
    with library.record(tmp_path / "run.gscope"):
        x = torch.tensor([0.5, -7.15625, 3.25], requires_grad=True)
        x.log().sum().backward()
    with load(tmp_path / "run.gscope") as recording:
        recording.scrub(tmp_path / "out.gscope")
        before, found = recording.births(), [one.code for one in explain(recording).findings]
    assert {"7.15625", "3.25"} <= {str(abs(value)) for value in values_of(before)}
    for value in ("7.15625", "3.25"):
        assert value in evidence_of(tmp_path / "run.gscope")
        assert value not in evidence_of(tmp_path / "out.gscope")
    with load(tmp_path / "out.gscope") as scrubbed:
        after = scrubbed.births()
        assert [one.code for one in explain(scrubbed).findings] == found
    assert {value for value in values_of(after) if math.isfinite(value)} == set()
    assert [(one.op, one.index, one.nan, one.inf) for one in after] == [
        (one.op, one.index, one.nan, one.inf) for one in before
    ]


@pytest.mark.parametrize(
    "text", ["[]", "7", '{"result": "value"}', '{"result": {}, "arguments": ["shape"]}', '{"arguments": []}', "{"]
)
def test_evidence_that_is_none_is_damage(recording: Path, text: str) -> None:
    with contextlib.closing(sqlite3.connect(recording)) as connection:
        connection.execute("INSERT INTO birth VALUES (0, 'born', 0, 0, NULL, NULL, 1, 0, 0, 0, ?, 0, 0)", (text,))
        connection.commit()
    with load(recording) as opened, pytest.raises(UnreadableError):
        opened.scrub(recording.with_name("out.gscope"))


def test_a_row_of_which_all_is_masked_is_still_known(tmp_path: Path) -> None:
    with library.record(tmp_path / "run.gscope"):
        x = torch.tensor([[0.5, 3.25], [1.0, 2.0]], requires_grad=True)
        x.masked_fill(torch.tensor([[True, True], [False, False]]), -torch.inf).softmax(1).sum().backward()
    with load(tmp_path / "run.gscope") as recording:
        recording.scrub(tmp_path / "out.gscope")
        before = [one.message for one in explain(recording).findings]
    with load(tmp_path / "out.gscope") as scrubbed:
        assert "every value is -inf" in before[0]
        assert [one.message for one in explain(scrubbed).findings] == before


def values_of(births: tuple[Birth, ...]) -> list[float]:
    given = [one for birth in births for one in birth.given if one.shape is not None]
    values = [value for one in given for value in (one.value, one.least, one.most, *(one.row or ()))]
    return [value for value in (*values, *(birth.value for birth in births)) if value is not None]


def evidence_of(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return " ".join(text for (text,) in connection.execute("SELECT evidence FROM birth"))


def test_a_real_run_is_readable_by_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    with library.record("run.gscope", detail="full"):
        for _ in range(2):
            model(torch.ones(2, 3)).sum().backward()
    run = CliRunner()
    assert run.invoke(gradscope, ["scrub", "run.gscope"], standalone_mode=False).exception is None
    scrubbed = Path("run.scrubbed.gscope")
    here = str(Path(__file__).parent).encode()
    assert here in Path("run.gscope").read_bytes()
    assert here not in scrubbed.read_bytes()
    for command in ("info", "graph"):
        result = run.invoke(gradscope, [command, "-q", str(scrubbed)], standalone_mode=False)
        assert result.exception is None
        assert "file-1.py" in result.stdout


def test_the_recording_itself_is_not_overwritten(recording: Path) -> None:
    before = recording.read_bytes()
    for arguments in (["-o", str(recording)], ["-f", "-o", str(recording)], ["-o", str(recording.parent)]):
        result = CliRunner().invoke(gradscope, ["scrub", str(recording), *arguments], standalone_mode=False)
        assert isinstance(result.exception, UsageError)
    assert recording.read_bytes() == before
