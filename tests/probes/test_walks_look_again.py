"""A graph that looks as in the steps before may save other tensors: now and then these are read anew."""

import torch

import gradscope
from tests.torch_versions import needs_saved_tensors

STEPS, FROM = 40, 10


class Hoards(torch.autograd.Function):
    """Saves one tensor more from a call on; nothing else about its graphs differs."""

    @staticmethod
    def forward(ctx, x, more):
        other = x.new_ones(7)
        ctx.save_for_backward(x, *([other] if more else []))
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad, None


@needs_saved_tensors
def test_what_a_repeated_graph_saves_is_noticed_when_it_changes(tmp_path):
    x = torch.ones(3, requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope", watch_all=True):
        for step in range(STEPS):
            Hoards.apply(x, step >= FROM).sum().backward()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        kept = [len(recording.graph(number).nodes[1].saved) for number in range(STEPS)]
    assert kept[:FROM] == [1] * FROM
    assert kept[-1] == 2
    assert kept == sorted(kept)
