"""Joint graphs come back from a recording as they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradscope.errors import UnreadableError
from gradscope.model.joint import Fact, Half, JointNode, Partition, PartitionStep, Region
from gradscope.model.site import Site
from gradscope.model.tensor import TensorType
from gradscope.store.joint_tables import write_fact, write_region
from gradscope.store.reader import load
from gradscope.store.writer import Writer

LINE = (Site("/no/such/file.py", 3, "f"),)
KIND = TensorType((2, -1), "float32")
NODES = (
    JointNode(0, "primals_1", "input", Half.FORWARD, KIND, 24, 0, label="x"),
    JointNode(1, "sin", "aten.sin.default", Half.FORWARD, KIND, 24, 1, LINE, 7, (0,), "layer", "output 0"),
    JointNode(2, "tangents_1", "input", Half.BACKWARD, KIND, 24, 2),
    JointNode(3, "add", "aten.add.Tensor", Half.BACKWARD, None, 0, -1, LINE, None, (1, 2), "", "", 0, (1, 1)),
)
CUT = Partition(
    "min-cut",
    (0, 1),
    (PartitionStep(0), PartitionStep(1, (0,))),
    (PartitionStep(2), PartitionStep(3, (1, 2))),
    used=True,
)
FACT = Fact("written input", "x is written", LINE)
REGION = Region(0, "f", "0/0", LINE, NODES, (CUT,), (FACT,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.gscope"


def written(path: Path, region: Region) -> Path:
    writer = Writer(path)
    writer.set_run({"argv": ["a.py"], "cwd": "/"})
    write_region(writer, region)
    write_fact(writer, FACT)
    writer.close({"ended": True})
    return path


def test_a_region_comes_back(path: Path) -> None:
    with load(written(path, REGION)) as recording:
        assert recording.regions() == (REGION,)
        assert recording.graph_breaks() == (FACT,)


@pytest.mark.parametrize(
    "node",
    [
        JointNode(1, "sin", "aten.sin.default", Half.FORWARD, inputs=(9,)),
        JointNode(1, "sin", "aten.sin.default", Half.FORWARD, uses=(-1,)),
        JointNode(5, "sin", "aten.sin.default", Half.FORWARD),
    ],
)
def test_a_node_that_names_no_node_is_damage(path: Path, node: JointNode) -> None:
    region = Region(0, "f", "0/0", LINE, (NODES[0], node), ())
    with load(written(path, region)) as recording, pytest.raises(UnreadableError):
        recording.regions()


def test_a_region_without_a_partition_is_damage(path: Path) -> None:
    with load(written(path, replace(REGION, partitions=()))) as recording, pytest.raises(UnreadableError):
        recording.regions()


def test_a_recording_without_joint_graphs_has_none(path: Path) -> None:
    writer = Writer(path)
    writer.set_run({"argv": ["a.py"], "cwd": "/"})
    writer.close({"ended": True})
    with load(path) as recording:
        assert recording.regions() == recording.graph_breaks() == ()
