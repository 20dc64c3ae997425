"""Hooks of ours on nodes stand beside the program's, leave nothing behind, and are used again."""

import gc
import weakref

import pytest
import torch
from torch import nn

import gradscope
from gradscope.probes.graph import node_hooks
from gradscope.probes.graph.node_hooks import HookSet


@pytest.fixture
def seen():
    return []


@pytest.fixture
def hooks(seen):
    def enter(hooks, number, received):
        seen.append(("enter", number, hooks.run))

    def leave(hooks, number, passed, received):
        seen.append(("leave", number, hooks.run))

    return HookSet(enter, leave)


def chain():
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    return loss, [loss.grad_fn, loss.grad_fn.next_functions[0][0]]


def test_each_node_is_entered_and_left(hooks, seen):
    loss, nodes = chain()
    hooks.place("run", nodes)
    loss.backward()
    assert seen == [("enter", 0, "run"), ("leave", 0, "run"), ("enter", 1, "run"), ("leave", 1, "run")]


def test_what_is_taken_away_does_not_fire(hooks, seen):
    loss, nodes = chain()
    hooks.place("run", nodes)
    hooks.take_away()
    loss.backward()
    assert seen == []


def test_hooks_and_dicts_are_used_again_when_the_nodes_are_gone(hooks):
    _, nodes = chain()
    hooks.place("first", nodes)
    used = [(hook, id(hook.own)) for hook in (*hooks._before, *hooks._after)]
    hooks.take_away()
    del nodes, _
    _, nodes = chain()
    hooks.place("second", nodes)
    assert [(hook, id(hook.own)) for hook in (*hooks._before, *hooks._after)] == used


def test_a_node_that_lives_keeps_its_dict_to_itself(hooks, seen):
    loss, nodes = chain()
    hooks.place("first", nodes)
    hooks.take_away()
    other, others = chain()
    hooks.place("second", others)
    fired = []
    nodes[1].register_hook(lambda passed, received: fired.append("the program's"))
    other.backward()
    assert fired == []
    loss.backward()
    assert fired == ["the program's"]
    assert {run for _, _, run in seen} == {"second"}


def test_a_hook_of_the_program_on_a_dead_node_is_not_taken_over(hooks):
    fired = []
    _, nodes = chain()
    hooks.place("first", nodes)
    nodes[1].register_prehook(lambda received: fired.append("an old one"))
    hooks.take_away()
    del nodes, _
    loss, nodes = chain()
    hooks.place("second", nodes)
    loss.backward()
    assert fired == []


def test_the_programs_hooks_stay_in_their_order(hooks, seen):
    loss, nodes = chain()
    handle = nodes[0].register_prehook(lambda received: seen.append("before"))
    hooks.place("run", nodes[:1])
    nodes[0].register_prehook(lambda received: seen.append("behind"))
    loss.backward(retain_graph=True)
    assert seen == ["before", ("enter", 0, "run"), "behind", ("leave", 0, "run")]
    handle.remove()
    hooks.take_away()
    loss.backward()
    assert seen[4:] == ["behind"]


def test_a_large_graph_leaves_no_hooks_behind(hooks, monkeypatch):
    monkeypatch.setattr(node_hooks, "_KEPT", 1)
    loss, nodes = chain()
    hooks.place("run", nodes)
    kept = weakref.ref(hooks._before[0]), weakref.ref(hooks._before[1])
    hooks.take_away()
    loss.backward()
    del loss, nodes
    assert [one() is not None for one in kept] == [True, False]


def collections(path, detail):
    """How often the garbage collector woke in 40 steps."""
    model = nn.Sequential(*(layer for _ in range(20) for layer in (nn.Linear(4, 4), nn.ReLU())))
    x, woke = torch.ones(2, 4), []

    def step():
        model.zero_grad()
        model(x).square().mean().backward()

    def note(phase, information):
        woke.append(phase)

    with gradscope.record(path, detail=detail):
        for _ in range(30):
            step()
        gc.collect()
        gc.callbacks.append(note)
        try:
            for _ in range(40):
                step()
        finally:
            gc.callbacks.remove(note)
    return woke.count("start")


def test_full_wakes_the_garbage_collector_no_more_than_ops(tmp_path):
    assert collections(tmp_path / "full.gscope", "full") <= collections(tmp_path / "ops.gscope", "ops") + 10
