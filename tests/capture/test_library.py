"""`with gradscope.record(...)` can be used again and again, and leaves torch as it was."""

from tests.capture.side_by_side import python

PROGRAM = """
import sys, threading, warnings
import gradscope
assert "torch" not in sys.modules
import torch, torch.fx.traceback, torch.utils.hooks, torch.autograd.graph as graph

def state():
    return (
        torch.fx.traceback.format_stack, torch.nn.Module._wrapped_call_impl.__code__,
        torch.utils.hooks.RemovableHandle.__init__,
        torch.is_anomaly_enabled, torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled(),
        list(warnings.filters),
        threading.Thread._bootstrap_inner, threading._make_invoke_excepthook, threading.excepthook, sys.excepthook,
        torch.Tensor.retain_grad, torch.Tensor.register_hook, graph.log, graph._register_logging_hooks_on_whole_graph,
        torch._C._len_torch_dispatch_stack(), set(vars(torch.nn.modules.module)),
    )

x = torch.ones(2, requires_grad=True)
gradscope.record  # what importing torch's own parts changes is not ours
before = state()
for detail in ("nodes", "ops", "full", "full"):
    try:
        with gradscope.record("run.gscope", detail=detail, overwrite=True) as recording:
            torch.nn.Linear(2, 2)(x).sum().backward()
            if detail == "ops": raise KeyError("inside")
    except KeyError: pass
    assert state() == before, detail
    print(recording.summary.backwards, recording.summary.faults, recording.summary.failure)
try:
    gradscope.record("run.gscope")
except Exception as error: print(error)
"""


def test_leaves_nothing_behind(tmp_path):
    run = python(tmp_path, "-c", PROGRAM)
    assert (run.stderr, run.status) == ("", 0)
    assert run.stdout == "1 {} None\n" * 4 + "run.gscope exists already\n"


AGAIN = """
import torch, gradscope
x = torch.ones(2, requires_grad=True)
with gradscope.record("first.gscope"):
    for _ in range(50): y = x.exp().sin()
with gradscope.record("second.gscope"):
    y.sum().backward()
with gradscope.load("second.gscope") as recording:
    print([node.site and node.site.line for node in recording.graph().nodes])
"""


def test_nodes_of_an_earlier_recording_have_no_lines_in_a_later_one(tmp_path):
    run = python(tmp_path, "-c", AGAIN)
    assert (run.stdout, run.stderr) == ("[7, None, None, None]\n", "")
