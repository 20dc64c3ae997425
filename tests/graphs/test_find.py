"""How a node can be named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.errors import UsageError
from gradscope.graphs.find import find, find_one
from gradscope.model.graph import Backward, FunctionClass, Graph, Node
from gradscope.model.site import Site

NODES = (
    Node(0, "MulBackward0", 9, stack=(Site("/project/train.py", 19),)),
    Node(1, "AddmmBackward0", 8),
    Node(2, "AddmmBackward0", 7),
    Node(3, "torch::autograd::AccumulateGrad", None, leaf="layer.weight"),
)
GRAPH = Graph(NODES, (), Backward(0))
PLACES = {2: 0, 0: 1, 1: 2, 3: 3}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("3", [3]),
        ("#0", [2]),
        ("MulBackward0", [0]),
        ("addmm", [2, 1]),
        ("layer.weight", [3]),
        ("AccumulateGrad", [3]),
        ("train.py:19", [0]),
        ("/project/train.py:19", [0]),
        ("other.py:19", []),
        ("99", []),
        ("#99", []),
        ("", []),
    ],
)
def test_names(text: str, ids: list[int]) -> None:
    assert [node.id for node in find(GRAPH, text, PLACES)] == ids


def test_one_is_wanted() -> None:
    assert find_one(GRAPH, "mul", PLACES).id == 0
    with pytest.raises(UsageError, match="2 nodes are 'addmm'") as caught:
        find_one(GRAPH, "addmm", PLACES)
    assert caught.value.hint == "say which by its id: AddmmBackward0 is 2, AddmmBackward0 is 1"
    with pytest.raises(UsageError, match="no node"):
        find_one(GRAPH, "Conv", PLACES)


def test_a_custom_function_under_torch_func_has_its_own_name() -> None:
    function = FunctionClass("net.SoftClip")
    node = Node(0, "SoftClipGeneratedBackward", 1, function=function)
    assert node.short_name == "SoftClipBackward"
    for name in ("VmappedSoftClipBackward", "VmappedSoftClipGeneratedBackward"):
        assert replace(node, name=name).short_name == "SoftClipBackward"
    for name in ("SoftClipBackward", "SoftClipGeneratedBackward", "softclip"):
        assert find(Graph((node,), (), Backward(0)), name, {0: 0}) == (node,)
