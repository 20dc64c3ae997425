"""`gradscope export`: traces that Perfetto's own parser reads, and tables that Parquet's does."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope
from gradscope.errors import UsageError
from gradscope.exports import protobuf
from gradscope.store.reader import load

SCRIPT = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
for _ in range(3):
    model(torch.ones(2, 3)).sum().backward()
"""
BEGIN, END = 1, 2
COLUMNS = ("step", "position", "backward", "phase", "operator", "node", "file", "line", "module", "grad", "rank")


@pytest.fixture(scope="module", params=["ops", "full"])
def recording(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / f"{request.param}.gscope"
    command = [sys.executable, "-m", "gradscope", "trace", "-q", "--detail", request.param, "-o", path, "-c", SCRIPT]
    subprocess.run(command, check=True, capture_output=True)
    return path


def export(*arguments):
    return CliRunner().invoke(
        gradscope, ["export", *map(str, arguments)], catch_exceptions=False, standalone_mode=False
    )


def fields(data):
    """The fields of a message: number and value, in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        yield key >> 3, value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def events(path):
    """Time, type, name and flows of each event, in order."""
    for _, packet in fields(path.read_bytes()):
        found = dict(fields(packet))
        if 11 in found:
            event = list(fields(found[11]))
            about = dict(event)
            flows = [value for number, value in event if number == 47]
            yield found[8], about[9], about.get(23, b"").decode(), flows


@pytest.fixture
def trace(recording, tmp_path):
    path = tmp_path / "run.pftrace"
    export(recording, "--to", "perfetto", "-o", path, "-q")
    return list(events(path))


def test_every_slice_that_begins_ends(trace):
    depth = 0
    for _, kind, _, _ in trace:
        depth += {BEGIN: 1, END: -1}[kind]
        assert depth >= 0
    assert depth == 0


def test_times_never_go_back(trace):
    times = [time for time, *_ in trace]
    assert times == sorted(times)


def test_steps_backward_calls_nodes_and_operators_are_there(trace):
    names = {name for _, _, name, _ in trace}
    assert {"step 0", "backward 2", "AddmmBackward0", "aten.addmm.default"} <= names


def test_flows_lead_from_operators_to_nodes(trace):
    flows = {}
    for _, _, name, ids in trace:
        for one in ids:
            flows.setdefault(one, []).append(name)
    assert ["aten.addmm.default", "AddmmBackward0"] in flows.values()
    assert all(len(names) == 2 for names in flows.values())


@pytest.mark.parametrize("value", [0, 1 << 28, 1_795_476_499_232_397_103, (1 << 62) + 12345])
def test_times_are_varints_of_nine_bytes(value):
    assert varint(protobuf.Times().varint(value), 0) == (value, 9)


def test_a_time_that_comes_again_is_the_same():
    times = protobuf.Times()
    assert [varint(times.varint(value), 0)[0] for value in (5, 5, 1 << 60, 5)] == [5, 5, 1 << 60, 5]


def test_perfettos_own_parser_reads_it(recording, tmp_path):
    parser = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    path = tmp_path / "run.pftrace"
    export(recording, "--to", "perfetto", "-o", path, "-q")
    read = parser.Trace()
    read.ParseFromString(path.read_bytes())
    assert [one.track_descriptor.thread.thread_name for one in read.packet[1:2]] == ["main thread"]
    assert sum(one.track_event.type == BEGIN for one in read.packet) > 10


def test_a_file_is_not_replaced_unasked(recording, tmp_path):
    (tmp_path / "run.pftrace").touch()
    with pytest.raises(UsageError, match="exists"):
        export(recording, "--to", "perfetto", "-o", tmp_path / "run.pftrace")


def test_parquet_says_what_it_needs(recording, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(UsageError, match="needs pyarrow"):
        export(recording, "--to", "parquet", "-o", tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet").exists()


def test_parquet_holds_every_operator(recording, tmp_path):
    pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    export(recording, "--to", "parquet", "-o", tmp_path / "run.parquet", "-q")
    table = dataset.dataset(tmp_path / "run.parquet", partitioning="hive").to_table()
    with load(recording) as opened:
        assert table.num_rows == opened.census().operations
    assert set(COLUMNS) <= set(table.schema.names)
