"""Programs of two ranks, forked from one process of each that has imported torch."""

import pytest

from tests.ranks.two_ranks import TwoRanks


@pytest.fixture(scope="package")
def two_ranks(tmp_path_factory):
    with TwoRanks(tmp_path_factory.mktemp("two_ranks")) as ranks:
        yield ranks


@pytest.fixture
def found_in(two_ranks):
    """Of a folder and a program: what is found in the recordings of its two ranks."""
    return two_ranks.found_in
