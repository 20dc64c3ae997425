"""Stretches of operators in a trace: written as a whole, or slice by slice, they are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gradscope.exports.places import NODE, OPERATOR, Place
from gradscope.exports.protobuf import Times
from gradscope.exports.spread import Spread, in_order
from gradscope.exports.track import Track
from gradscope.model.export import Kind

KINDS = [Kind(name, OPERATOR) for name in "abc"]
AROUND = Kind("node", NODE)


@some.composite
def spreads(draw):
    groups = draw(some.lists(some.tuples(some.booleans(), some.integers(1, 3)), min_size=1, max_size=4))
    places = []
    for around, count in groups:
        if around:
            places.append(Place(AROUND, count, around=True))
        places += [Place(draw(some.sampled_from(KINDS))) for _ in range(count)]
    operators = sum(not place.around for place in places)
    flows = [draw(some.integers(0, 3)) for _ in places]
    return Spread(draw(some.integers(0, 60)), draw(some.integers(1, 4)), operators, places, flows)


slices = some.builds(
    lambda start, length, kind: (start, start + length, kind, 0),
    some.integers(0, 80),
    some.integers(0, 40),
    some.sampled_from(KINDS),
)


def written(items):
    return b"".join(piece for pieces in Track(7, 1, {1, 2}).events(items) for piece in pieces)


@given(some.lists(spreads() | slices, max_size=5))
def test_a_stretch_is_written_as_its_slices_would_be(items):
    apart = [one for item in items for one in (item.slices() if isinstance(item, Spread) else [item])]
    assert written(in_order(items)) == written(in_order(apart))


@pytest.mark.parametrize("start", [0, (1 << 28) - 5])
def test_times_at_once_are_those_one_by_one(start):
    assert Times().evenly(start, 3, 9) == [Times().varint(start + 3 * place) for place in range(9)]
