"""DistributedDataParallel's reducer is seen where it starts a collective, which a communication hook tells as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gradscope
from gradscope.measures.hooks import BY_EFFECT, NotFired, fired_table, silent, timeline
from gradscope.model.graph import Graph
from gradscope.model.hook import Hook
from gradscope.view.ordered import ordered
from tests.capture.side_by_side import python

pytestmark = pytest.mark.timeout(300)

NAME = "DistributedDataParallel"
# Buckets of less than a layer. The first one is small, and they are built anew after the first step.
SCRIPT = """
import json, os, sys
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import gradscope

log = []

def average(state, bucket):
    log.append("DistributedDataParallel")
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0])

def noting(name):
    return lambda parameter: log.append(name) or dist.all_reduce(torch.ones(1))

def build():
    net = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Tanh(), torch.nn.Linear(300, 300))
    return DistributedDataParallel(net, bucket_cap_mb=0.2)  # the line

dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store", rank=0, world_size=1)
early = build() if "early" in sys.argv else None
with gradscope.record("run.gscope", detail=sys.argv[1]):
    model = early or build()
    if "told" in sys.argv:
        model.register_comm_hook(None, average)
        for name, parameter in model.named_parameters():
            hook = noting(name)
            hook.__qualname__ = name
            parameter.register_post_accumulate_grad_hook(hook)
    for step in range(2):
        model(torch.ones(2, 300)).sum().backward()
        if step == 0:
            log.clear()
    with model.no_sync():
        model(torch.ones(2, 300)).sum().backward() if "unsynchronised" in sys.argv else None
print(json.dumps(log), flush=True)
os._exit(0)  # gloo's threads abort some processes at the interpreter's end
"""


def trained(folder: Path, *words: str) -> tuple[list[str], Graph, tuple[Hook, ...]]:
    """What the hooks saw of the last backward, its graph, and the hooks of the run."""
    run = python(folder, "-c", SCRIPT, *words, OMP_NUM_THREADS="1")
    assert run.status == 0, run.stderr
    with gradscope.load(folder / "run.gscope") as recording:
        assert not recording.faults()
        log = json.loads(run.stdout.splitlines()[-1])  # gloo may speak first
        return log, ordered(recording.graph()), recording.hooks()


def in_order(graph: Graph) -> list[str]:
    return [event.firing.hook.name for event in timeline(graph) if event.firing]


def test_where_a_communication_hook_is_asked(tmp_path: Path) -> None:
    log, graph, _ = trained(tmp_path, "ops", "told")
    assert in_order(graph) == log
    assert log.count(NAME) == 2  # and the collectives of the other hooks are not taken for the reducer's


def test_its_row_says_that_its_effect_was_seen_and_where_it_was_made(tmp_path: Path) -> None:
    _, graph, _ = trained(tmp_path, "full")
    rows = [row for row in fired_table(graph).rows if row[1] == "reducer"]
    line = SCRIPT.splitlines().index(next(line for line in SCRIPT.splitlines() if "# the line" in line)) + 1
    places = [(row[2].partition(" ")[2], row[3], row[4], row[5], row[9]) for row in rows]  # type: ignore[union-attr]
    last = ("AccumulateGrad module.0.weight", "AccumulateGrad module.2.weight")
    assert sorted(places) == [(node, NAME, f"<string>:{line}", None, BY_EFFECT) for node in last]


def test_one_that_was_made_before_the_recording_has_no_line(tmp_path: Path) -> None:
    _, graph, hooks = trained(tmp_path, "ops", "early")
    assert [hook.on for hook in hooks] == ["made before the recording began"]
    assert in_order(graph) == [NAME, NAME]


@pytest.mark.parametrize("words", [("ops", "unsynchronised"), ("nodes",)])
def test_without_a_collective_it_says_why(words: tuple[str, ...], tmp_path: Path) -> None:
    _, graph, hooks = trained(tmp_path, *words)
    assert in_order(graph) == []
    assert [why for _, _, why in silent(graph, hooks)] == [NotFired.NO_EFFECT]
