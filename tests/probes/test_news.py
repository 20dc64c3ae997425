"""What makes the dataflow of a step worth a look: new operators or a new order, not where memory lies."""

from gradscope.probes.operators.blocks import HEAD
from gradscope.probes.operators.news import News


def block(*operators, storage=None):
    """Flat numbers as a thread collects them: a name, its stack and what follows, for each operator."""
    numbers = []
    for name, stack in operators:
        written = [] if storage is None else [1, 0, storage, 0]
        numbers += [name, stack, 0, -1, len(written) // 4, *written]
    assert len(numbers) >= HEAD
    return numbers


def test_the_same_operators_elsewhere_in_memory_are_no_news():
    news = News()
    assert news.take(block((1, 1), (2, 1), storage=3))
    assert not news.take(block((1, 1), (2, 1), storage=4))


def test_an_operator_on_a_new_line_is():
    news = News()
    news.note(block((1, 1)))
    assert not news.take(block((1, 1)))
    assert news.take(block((1, 2)))


def test_orders_that_never_repeat_do_not_use_up_the_looks_for_new_operators():
    news = News()
    news.note(block((1, 1)))
    looks = [news.take(block(*[(1, 1)] * times)) for times in range(2, 100)]
    assert looks.count(True) == 16
    assert news.take(block((7, 7)))


def test_orders_are_forgotten_once_none_is_looked_at_any_more():
    news = News()
    news.note(block((1, 1), (2, 2)))
    for times in range(2, 200):
        news.take(block(*[(1, 1)] * times))
    assert len(vars(news)["_orders"]) < 20
