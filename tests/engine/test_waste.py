"""What inputs= spares, and what is computed for nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from gradscope.engine.flops import flops
from gradscope.engine.order import predict
from gradscope.engine.waste import ALL_AT_ONCE, waste
from gradscope.model.graph import Backward, Edge, FunctionClass, Graph, Node, Root
from gradscope.model.statistics import NodeRun
from gradscope.model.tensor import SavedTensor, TensorType


def linear(function: FunctionClass | None = None) -> Graph:
    """A linear layer, asked for the gradient of its input only: 0 product, 1 bias, 2 input, 3 weight."""
    saved = (
        SavedTensor("mat1", TensorType((8, 16), "float32"), 512, 0),
        SavedTensor("mat2", TensorType((16, 4), "float32"), 256, 1),
    )
    meta = (TensorType((8, 4), "float32"),)
    product = Node(0, "AddmmBackward0", 9, saved=saved, inputs_meta=meta, function=function)
    leaves = (Node(number, "AccumulateGrad", None) for number in (1, 2, 3))
    edges = (Edge(0, 1, 0), Edge(0, 2, 1), Edge(0, 3, 2))
    return Graph((product, *leaves), edges, Backward(0, "grad", (Root(0),), (Root(2),)))


def test_matrix_products_are_counted() -> None:
    node = linear().nodes[0]
    assert [flops(node, output) for output in range(3)] == [32, 2 * 8 * 4 * 16, 2 * 8 * 4 * 16]


def test_convolutions_are_counted() -> None:
    weight = SavedTensor("weight", TensorType((6, 3, 5, 5), "float32"), 1800, 0)
    node = Node(0, "ConvolutionBackward0", 1, saved=(weight,), inputs_meta=(TensorType((2, 6, 7, 7), "float32"),))
    assert flops(node, 1) == 2 * (2 * 6 * 7 * 7) * 75
    assert flops(node, 2) == 2 * 6 * 7 * 7


def test_the_weights_gradient_is_left_out() -> None:
    found = waste(linear())
    assert [edge.target for edge in found.not_computed] == [1, 3]
    assert (found.left_out, found.wasted, found.flops_run) == ((1, 3), (), 1024)
    assert found.flops_spared == 32 + 1024


def test_what_a_custom_function_computes_is_not_known_from_the_graph() -> None:
    found = waste(linear(FunctionClass("Linear")))
    assert [edge.target for edge in found.unknown] == [1, 3]
    assert (found.not_computed, found.wasted, found.certain) == ((), (), False)


def test_what_a_custom_function_never_computes_is_neither_spared_nor_wasted() -> None:
    found = waste(linear(FunctionClass("Linear")), computed={(0, 1)})
    assert (found.not_computed, found.wasted, found.unknown) == ((), (), ())


def test_one_operator_that_computes_all_gradients_spares_none() -> None:
    graph = linear()
    node = replace(graph.nodes[0], name="ScaledDotProductFlashAttentionForCpuBackward0")
    found = waste(replace(graph, nodes=(node, *graph.nodes[1:])))
    assert [edge.target for edge in found.wasted] == [1, 3]
    assert found.not_computed == ()


def test_the_nodes_that_compute_all_at_once_are_those_of_torchs_schemas() -> None:
    """Which operators make several gradients and take no mask, as far as torch names a node after its operator."""
    several = {
        schema.name.partition("::")[2].strip("_")
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.endswith("_backward") and len(schema.returns) > 1 and not _has_mask(schema)
    }
    kinds = {name.rstrip("0123456789") for name in dir(torch._C._functions)}
    assert {kind for kind in kinds if _operator(kind) in several} == ALL_AT_ONCE & kinds


def _has_mask(schema: Any) -> bool:
    return any("mask" in argument.name and "List" in str(argument.type) for argument in schema.arguments)


def _operator(kind: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.replace("2D", "_2d")).lower()


def test_what_was_seen_to_come_out_decides() -> None:
    found = waste(linear(FunctionClass("Linear")), computed={(0, 0), (0, 1)})
    assert [edge.target for edge in found.wasted] == [1]
    assert found.certain


def test_seconds_follow_from_the_nodes_that_ran() -> None:
    found = waste(linear(), runs=[NodeRun(0, 0, 0, 0.0, 2.0)])
    assert found.seconds_spared == pytest.approx(2.0 * 1056 / 1024)
    assert found.seconds_wasted == 0.0


def test_without_inputs_nothing_is_spared() -> None:
    whole = linear()
    everything = Graph(whole.nodes, whole.edges, Backward(0, "backward", (Root(0),)))
    found = waste(everything, predict(everything))
    assert (found.left_out, found.not_computed, found.wasted) == ((), (), ())
