"""Joint graphs are torch's own: what is saved is what a compiled function saves, and every node has its line."""

import shutil

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

import gradscope
from gradscope.compilers.run import callable_of, capture, eager
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.joint import Half
from gradscope.model.site import Origin
from gradscope.store.origin import origin_of
from gradscope.store.reader import load
from sample_scripts import compiled
from tests.capture.side_by_side import python
from tests.compilers import subjects
from tests.torch_versions import PARTITION, needs, needs_saved_tensors, skip_where_different

PARTITIONERS = {"default": default_partition, "min-cut": min_cut_rematerialization_partition}


def whose(file):
    return (Origin.USER, Origin.LIBRARY, Origin.TORCH)[origin_of(file)]


def captured(target, *arguments, dynamic=False):
    return capture(target, "it", [list(arguments)], dynamic, whose)


def region(target, *arguments, dynamic=False):
    return captured(target, *arguments, dynamic=dynamic).regions[0]


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


@pytest.fixture(scope="module")
def block():
    """The joint graph of a transformer block."""
    torch.manual_seed(0)
    return region(compiled.Block(), *compiled.batch())


def saved_when_compiled(target, arguments, partition):
    """Bytes that a compiled function's one node keeps: each storage once, no parameter's and no argument's."""

    def boxed(graph, inputs):
        return make_boxed_func(graph.forward)

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=boxed, bw_compiler=boxed, partition_fn=partition)
    output = torch.compile(target, backend=backend)(*arguments)
    own = {one.untyped_storage()._cdata for one in [*target.parameters(), *target.buffers(), *arguments]}
    nodes, kept = [output.grad_fn], {}
    while nodes:
        node = nodes.pop()
        for tensor in getattr(node, "saved_tensors", ()):
            kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        nodes.extend(following for following, _ in node.next_functions if following is not None)
    return sum(size for storage, size in kept.items() if storage not in own)


@pytest.mark.parametrize("name", PARTITIONERS)
def test_saves_what_the_compiled_function_saves(block, name):
    torch.manual_seed(0)
    expected = saved_when_compiled(compiled.Block(), compiled.batch(), PARTITIONERS[name])
    assert block.saved_bytes(block.partition(name)) == expected > 0


@needs_saved_tensors
def test_eager_saves_what_a_recording_says(tmp_path):
    torch.manual_seed(0)
    model, arguments = compiled.Block(), compiled.batch()
    found = eager(model, list(arguments), whose)
    with gradscope.record(tmp_path / "a.gscope"):
        model(*arguments).sum().backward()
    with load(tmp_path / "a.gscope") as recording:
        nodes = recording.graph().nodes
    saved = [one for node in nodes for one in node.saved if one.leaf is None and one.type.shape]  # no plain numbers
    inside = {one.storage: one.bytes for one in saved}
    outside = {one.storage: one.bytes for one in found if not one.held}
    (x,) = arguments  # no leaf to the recording, but an argument here
    assert sum(outside.values()) == sum(inside.values()) - x.untyped_storage().nbytes()
    assert all(one.site is not None for one in found)


def test_every_node_has_a_line_of_the_user(block):
    assert [node for node in block.nodes if not node.is_input and node.site is None] == []
    lines = {node.site.line for node in block.nodes if node.phase is Half.BACKWARD and node.site}
    assert {site.file for node in block.nodes if (site := node.site)} == {compiled.__file__}
    assert len(lines) > 4


def test_inputs_and_gradients_have_the_users_names(block):
    labels = {node.label for node in block.nodes if node.label}
    assert {
        "x",
        "self.norm1.weight",
        "self.mlp.2.bias",
        "gradient of self.qkv.weight",
        "gradient of output 0",
    } <= labels


def test_both_halves_compute_the_whole(block):
    for cut in block.partitions:
        forward, backward = ({step.node for step in steps} for steps in (cut.forward, cut.backward))
        assert set(cut.saved) <= forward
        known = set()
        for step in cut.backward:
            assert set(step.inputs) <= known
            known.add(step.node)
        taken = {step.node for step in cut.backward if not step.inputs and step.node in forward}
        assert {one for one in taken if block.nodes[one].inputs} <= set(cut.saved)
        assert {node.id for node in block.nodes if node.label.startswith("gradient of self")} <= backward


def test_min_cut_computes_values_again(block):
    again = [block.nodes[one] for one in block.recomputed(block.partition("min-cut"))]
    assert again
    assert all(node.phase is Half.FORWARD for node in again)
    assert block.recomputed(block.partition("default")) == ()


def test_an_addition_names_the_value_and_its_uses():
    found = region(subjects.used_twice, leaf(2, 3), leaf(3, 4))
    (addition,) = [node for node in found.nodes if node.uses]
    assert found.nodes[addition.addition_of].site.line == subjects.line("h is made")
    lines = [found.nodes[one].site.line for one in addition.uses]
    assert lines == [subjects.line("first use"), subjects.line("second use")]


@needs(PARTITION)
def test_an_addition_is_seen_through_a_sum_and_a_custom_function():
    found = region(subjects.used_in_a_sum, leaf(3))
    (addition,) = [node for node in found.nodes if node.uses]
    assert found.nodes[addition.addition_of].op == "aten.cos.default"
    assert {found.nodes[one].op for one in addition.uses} == {"aten.exp.default", "aten.add.Tensor"}


@needs(PARTITION)
def test_an_addition_takes_the_gradient_of_an_output_into_account():
    found = region(subjects.kept_and_used, leaf(2, 3), leaf(2, 3))
    (addition,) = [node for node in found.nodes if node.uses]
    assert found.nodes[addition.addition_of].label == "q"
    assert [found.nodes[one].op for one in addition.uses] == ["aten.mul.Tensor", "aten.add.Tensor"]


def test_a_custom_functions_backward_has_its_own_line():
    skip_where_different("line of a custom backward")
    found = region(subjects.Layer(), torch.randn(2, 8))
    lines = [node.site.line for node in found.nodes if node.phase is Half.BACKWARD and node.site]
    assert subjects.line("backward of Exp") in lines
    assert len(lines) == len([n for n in found.nodes if n.phase is Half.BACKWARD and not n.is_input])


def test_writes_and_views_are_told():
    facts = region(subjects.writes, leaf(3), torch.randn(3)).facts
    assert [fact.kind for fact in facts] == ["written input", "functionalized", "view as output"]
    assert "b is written in place" in facts[0].text
    assert facts[1].site.line == subjects.line("b is written")
    assert facts[2].text.startswith("output 1 is a view of b")


def test_one_tensor_given_twice_is_told():
    (fact,) = region(subjects.four, *subjects.one_twice()).facts
    assert fact.text.startswith("a and c are the same tensor")


def test_a_branch_on_data_breaks_the_graph():
    found = captured(subjects.branches, leaf(3))
    assert found.regions[0].name == "branches"
    assert len(found.regions) == 2
    (broken,) = found.breaks
    assert broken.text == "control flow depends on a tensor's value"
    assert broken.site.line == subjects.line("depends on data")


def test_symbolic_sizes_are_minus_one():
    found = region(subjects.Layer(), torch.randn(5, 8), dynamic=True)
    assert (-1, 3) in {node.type.shape for node in found.nodes if node.type}
    assert found.saved_bytes(found.partition("default")) == 5 * 3 * 4


def test_what_cannot_be_compiled_is_torchs_reason_and_the_line():
    with pytest.raises(NothingCheckedError, match="shape '\\[7\\]' is invalid for input of size 4") as raised:
        captured(subjects.wrong_shape, leaf(4))
    assert f"subjects.py:{subjects.line('cannot be')}" in raised.value.hint


def test_what_needs_no_gradient_is_said():
    with pytest.raises(NothingCheckedError, match="needs no backward"):
        captured(subjects.without_gradient, torch.randn(3))


def test_a_moved_part_of_torch_is_one_sentence(monkeypatch):
    monkeypatch.delattr("torch._functorch.partitioners.default_partition")
    with pytest.raises(UsageError, match=r"has no torch\._functorch\.partitioners\.default_partition"):
        captured(subjects.used_twice, leaf(2, 3), leaf(3, 4))


@pytest.mark.parametrize("found", [3, "text"])
def test_what_is_not_callable_is_refused(found):
    with pytest.raises(UsageError, match="no function and no module"):
        callable_of(found, "it")


CACHED = """
import torch
from torch._dynamo.utils import counters

@torch.compile
def f(x, weight):
    return x @ weight  # no kernel to compile

f(torch.ones(4, 8), torch.ones(8, 3, requires_grad=True)).backward(torch.ones(4, 3))
print(counters["inductor"]["fxgraph_cache_hit"])
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")
def test_a_region_in_torchs_cache_is_seen_again_and_its_kernels_are_not_compiled_again(tmp_path):
    (tmp_path / "cached.py").write_text(CACHED)
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    filled = python(tmp_path, "cached.py", **cache)
    traced = python(tmp_path, "-m", "gradscope", "trace", "-q", "--joint", "-o", "run.gscope", "cached.py", **cache)
    assert (filled.stdout, traced.stdout, traced.stderr) == ("0\n", "2\n", "")
    with gradscope.load(tmp_path / "run.gscope") as recording:
        (region,) = recording.regions()
    assert (region.name, {cut.name: cut.used for cut in region.partitions}["min-cut"]) == ("f", True)
