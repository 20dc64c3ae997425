"""Order and pruning on graphs built by hand."""

from __future__ import annotations

from gradscope.engine.heap import Task, waiting
from gradscope.engine.order import Prediction, predict, steps
from gradscope.model.graph import Backward, Edge, Graph, Node, Root


def graph(
    seq_nrs: list[int | None],
    edges: list[tuple[int, int]],
    roots: tuple[int | None, ...] = (0,),
    inputs: tuple[int | None, ...] | None = None,
    kind: str = "backward",
    devices: dict[int, str] | None = None,
    nested_in: int | None = None,
) -> Graph:
    """Edges are (source, target); outputs are counted in the order given."""
    devices = devices or {}
    nodes = tuple(Node(i, f"N{i}", seq_nr, device=devices.get(i, "cpu")) for i, seq_nr in enumerate(seq_nrs))
    used = [0] * len(nodes)
    made = []
    for source, target in edges:
        made.append(Edge(source, target, output=used[source]))
        used[source] += 1
    backward = Backward(
        0,
        kind=kind,
        roots=tuple(Root(root) for root in roots),
        inputs=None if inputs is None else tuple(Root(node) for node in inputs),
        nested_in=nested_in,
    )
    return Graph(nodes, tuple(made), backward)


# 0 is the loss; 1 and 2 are its operands, made in this order; 3 and 4 are leaves, both used by 1 and 2.
DIAMOND = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4)]
SEQ_NRS = [9, 5, 7, None, None]


def test_the_node_made_last_runs_first_and_leaves_as_soon_as_ready() -> None:
    prediction = predict(graph([9, 5, 7, None], [(0, 1), (0, 2), (2, 3)]))
    assert prediction == Prediction((0, 2, 3, 1), (), frozenset({(0, 0), (0, 1), (2, 0)}))


def test_a_leaf_used_twice_waits_for_both_gradients() -> None:
    prediction = predict(graph(SEQ_NRS, DIAMOND))
    assert prediction.order == (0, 2, 1, 3, 4)
    assert prediction.tied == (3,)


def test_edges_are_followed_by_output_whatever_their_order_in_the_graph() -> None:
    whole = graph(SEQ_NRS, DIAMOND)
    turned = Graph(whole.nodes, whole.edges[::-1], whole.backward)
    assert predict(turned) == predict(whole)


def test_two_edges_to_one_target_count_twice() -> None:
    assert predict(graph([3, None], [(0, 1), (0, 1)])).order == (0, 1)


def test_grad_captures_its_inputs_without_running_them() -> None:
    prediction = predict(graph(SEQ_NRS, DIAMOND, inputs=(3,), kind="grad"))
    assert prediction.order == (0, 2, 1)
    assert prediction.captured_only == (3,)
    assert prediction.edges == {(0, 0), (0, 1), (1, 0), (2, 0)}


def test_grad_runs_an_input_that_leads_to_another() -> None:
    prediction = predict(graph(SEQ_NRS, DIAMOND, inputs=(3, 1), kind="grad"))
    assert prediction.order == (0, 2, 1)
    assert prediction.captured_only == (3,)


def test_backward_runs_its_inputs() -> None:
    prediction = predict(graph(SEQ_NRS, DIAMOND, inputs=(1,)))
    assert prediction.order == (0, 1)
    assert prediction.captured_only == ()
    assert prediction.edges == {(0, 0)}


def test_the_root_itself_as_input() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, inputs=(0,), kind="grad")) == Prediction((), (0,), frozenset())
    assert predict(graph(SEQ_NRS, DIAMOND, inputs=(0,))) == Prediction((0,), (), frozenset())


def test_an_input_outside_the_graph_makes_nothing_run() -> None:
    for kind in ("grad", "backward"):
        assert predict(graph(SEQ_NRS, DIAMOND, inputs=(None,), kind=kind)) == Prediction((), (), frozenset())


def test_an_input_that_the_roots_do_not_reach_makes_nothing_run() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, roots=(1,), inputs=(2,))).order == ()


def test_several_roots_start_in_their_order_of_priority() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, roots=(1, 2))).order == (2, 1, 3, 4)


def test_a_root_behind_another_waits_for_it() -> None:
    assert predict(graph([5, 9], [(0, 1)], roots=(1, 0))).order == (0, 1)


def test_a_root_given_twice_runs_once() -> None:
    assert predict(graph([5, None], [(0, 1)], roots=(0, 0))).order == (0, 1)


def test_what_the_roots_do_not_reach_is_not_waited_for() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, roots=(1,))).order == (1, 3, 4)


def test_a_root_without_a_node_makes_torch_refuse_the_call() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, roots=(0, None))).order == ()
    assert predict(graph(SEQ_NRS, DIAMOND, roots=())).order == ()


def test_steps_show_what_became_ready_and_what_waits() -> None:
    queue: list[Task] = []
    seen = [
        (step.node, step.ready, [task.node for task in waiting(queue)])
        for step in steps(graph(SEQ_NRS, DIAMOND), queue)
    ]
    assert seen == [(0, (1, 2), []), (2, (), [1]), (1, (3, 4), []), (3, (), [4]), (4, (), [])]


def test_one_device_with_one_root_is_exact() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, devices=dict.fromkeys(range(5), "cuda:0"))).exact


def test_several_roots_race_with_the_thread_of_a_device() -> None:
    assert not predict(graph(SEQ_NRS, DIAMOND, roots=(1, 2), devices=dict.fromkeys(range(5), "cuda:0"))).exact


def test_two_devices_keep_to_the_dependencies_and_say_that_the_rest_is_chance() -> None:
    prediction = predict(graph(SEQ_NRS, DIAMOND, devices={1: "cuda:0", 3: "cuda:0"}))
    assert sorted(prediction.order) == [0, 1, 2, 3, 4]
    assert prediction.order.index(3) > max(prediction.order.index(1), prediction.order.index(2))
    assert not prediction.exact


def test_meta_tensors_use_the_cpu_queue() -> None:
    assert predict(graph(SEQ_NRS, DIAMOND, devices={1: "meta", 3: "meta"})).exact


def test_ties_in_a_nested_backward_depend_on_the_outer_queue() -> None:
    assert not predict(graph(SEQ_NRS, DIAMOND, nested_in=0)).exact
    assert predict(graph([9, 5, 7, None], [(0, 1), (0, 2), (2, 3)], nested_in=0)).exact


def test_a_nested_walk_leaves_outer_tasks_alone() -> None:
    queue = [Task(77, 2**64 - 1)]
    assert [step.node for step in steps(graph(SEQ_NRS, DIAMOND), queue, depth=1)] == [0, 2, 1, 3, 4]
    assert queue == [Task(77, 2**64 - 1)]


def test_large_graphs_are_walked_without_recursion() -> None:
    """Quadratic work would meet the suite's time limit."""
    count = 100_000
    chain = graph(list(range(count, 0, -1)), [(i, i + 1) for i in range(count - 1)], inputs=(count - 1,))
    fan = graph([20_000, *range(10_000)], [(0, i) for i in range(1, 10_001)])
    assert predict(chain).order == tuple(range(count))
    assert predict(fan).order == (0, *range(10_000, 0, -1))
