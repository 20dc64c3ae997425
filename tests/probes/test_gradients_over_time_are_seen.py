"""What is measured of a cell's nodes is what the program's own hooks see; no hook and no handle of ours is left."""

import torch
from torch.utils.hooks import RemovableHandle

import gradscope

STEPS = 20


def unrolled(weight: torch.Tensor, seen: list[float] | None = None) -> torch.Tensor:
    state = torch.ones(3)
    for _ in range(STEPS):
        state = torch.tanh(weight @ state)
        if seen is not None:
            state.register_hook(lambda gradient: seen.append(gradient.abs().max().item()))
    return state.sum()


def test_the_sizes_are_those_that_hooks_of_the_program_see(tmp_path):
    weight, seen = torch.full((3, 3), 0.5, requires_grad=True), []
    with gradscope.record(tmp_path / "run.gscope"):
        unrolled(weight, seen).backward()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        sizes, nodes = recording.node_sizes()[0], recording.graph(0).nodes
    measured = {nodes[number].seq_nr: size for number, size in sizes.items() if nodes[number].name == "TanhBackward0"}
    in_order = sorted((node.seq_nr for node in nodes if node.name == "TanhBackward0"), reverse=True)
    assert len(measured) == 6
    assert {in_order.index(number): size for number, size in measured.items()} == {
        at: seen[at] for at in (0, 3, 7, 11, 15, 19)
    }


def test_only_some_steps_are_measured_and_none_leaves_a_hook(tmp_path):
    weight = torch.full((3, 3), 0.5, requires_grad=True)
    before = RemovableHandle.next_id
    with gradscope.record(tmp_path / "run.gscope"):
        for _ in range(6):
            unrolled(weight).backward()
    assert RemovableHandle.next_id == before
    with gradscope.load(tmp_path / "run.gscope") as recording:
        assert sorted(recording.node_sizes()) == [0, 1, 2, 4]
        assert not any(node.hooks for node in recording.graph(4).nodes)
