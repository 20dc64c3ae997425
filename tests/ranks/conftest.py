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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What is asked of one script's programs stands side by side, so that one worker has it, and records them once."""
    places = [
        place for place, item in enumerate(items) if "script" in _parameters(item) and "folder_of" in item.fixturenames
    ]
    by_script = sorted((items[place] for place in places), key=lambda item: _parameters(item)["script"])
    for place, item in zip(places, by_script, strict=True):
        items[place] = item


def _parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}
