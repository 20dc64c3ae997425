"""Moments: what goes where, what becomes ready, what waits."""

from __future__ import annotations

import itertools
import random

import pytest

from gradscope.engine.order import predict
from gradscope.engine.replay import moments
from tests.engine.live import live_graph
from tests.engine.programs import OPERATIONS, random_tensors
from tests.engine.test_order import DIAMOND, SEQ_NRS, graph


def test_what_goes_where() -> None:
    whole = graph(SEQ_NRS, DIAMOND)
    walked = list(moments(whole, predict(whole)))
    assert [(each.node, each.position, each.queue) for each in walked] == [
        (0, 0, (2, 1)),
        (2, 1, (1,)),
        (1, 2, (3, 4)),
        (3, 3, (4,)),
        (4, 4, ()),
    ]
    assert [(sent.edge.target, sent.before, sent.ready) for sent in walked[1].sent] == [(3, 0, False), (4, 0, False)]
    assert [(sent.edge.target, sent.before, sent.ready) for sent in walked[2].sent] == [(3, 1, True), (4, 1, True)]
    assert [each.tied for each in walked] == [False, False, False, True, False]


def test_what_is_not_asked_for_is_not_sent() -> None:
    whole = graph(SEQ_NRS, DIAMOND, inputs=(3,), kind="grad")
    walked = list(moments(whole, predict(whole)))
    assert [(each.node, each.position) for each in walked] == [(0, 0), (2, 1), (1, 2), (3, None)]
    assert [sent.asked for sent in walked[1].sent] == [True, False]


def test_a_recorded_order_is_followed() -> None:
    whole = graph(SEQ_NRS, DIAMOND)
    walked = list(moments(whole, predict(whole), (0, 1, 2, 4, 3)))
    assert [each.node for each in walked] == [0, 1, 2, 4, 3]
    assert walked[0].queue == (2, 1)
    assert walked[2].waiting == 2


def test_several_queues_show_what_is_ready_anywhere() -> None:
    whole = graph(SEQ_NRS, DIAMOND, devices={1: "cuda:0"})
    assert next(iter(moments(whole, predict(whole)))).queue == (2, 1)


@pytest.mark.parametrize("seed", range(30))
def test_the_first_in_the_queue_is_the_next_to_run(seed: int) -> None:
    choose = random.Random(seed)
    pool = random_tensors(choose, OPERATIONS)
    live = live_graph(pool[-2:], choose.sample(pool, 2) if seed % 2 else None, "grad" if seed % 2 else "backward")
    walked = list(moments(live.graph, predict(live.graph)))
    for now, following in itertools.pairwise(walked):
        assert now.queue[0] == following.node
    assert not walked or walked[-1].waiting == 0
