"""Gradient flow by parameter and by node."""

from gradscope.measures.gradients import by_node, by_parameter
from gradscope.model.statistics import GradientStatistics
from tests import by_hand

GRAPH = by_hand.small()
BIAS = 3  # the accumulator of linear.bias


def gradient(node, norm, side="in", nan=0):
    return GradientStatistics(node, side, 0, norm, norm / 2, 0.5, nan, 0)


def named(table):
    return {row[0]: dict(zip(table.names, row, strict=True)) for row in table.rows}


def test_a_parameter_is_followed_over_the_calls():
    table = by_parameter([(GRAPH, [gradient(BIAS, 4.0)]), (GRAPH, [gradient(BIAS, 1.0)])])
    row = named(table)["linear.bias"]
    assert (row["norm"], row["least"], row["most"], row["calls"], row["norms"]) == (1.0, 1.0, 4.0, 2, "4 1")


def test_what_an_accumulator_passes_on_is_not_counted():
    assert by_parameter([(GRAPH, [gradient(BIAS, 4.0, side="out")])]).rows == ()


def test_a_gradient_with_nan_has_no_norm():
    row = named(by_parameter([(GRAPH, [gradient(BIAS, 4.0, nan=2)])]))["linear.bias"]
    assert (row["norm"], row["nan"], row["norms"]) == (None, 2, "nan")


def test_nodes_stand_from_the_loss_to_the_leaves():
    table = by_node(GRAPH, [[gradient(BIAS, 1.0), gradient(1, 2.0), gradient(0, 3.0)]])
    assert [row[0] for row in table.rows] == ["0 MeanBackward0", "1 SwishBackward", "3 AccumulateGrad linear.bias"]
