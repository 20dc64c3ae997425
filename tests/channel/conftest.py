"""Programs of a test find each other in a folder of its own."""

import pytest

from tests.arming.armed_run import own_channels


@pytest.fixture(autouse=True)
def channel_folder(monkeypatch):
    with own_channels(monkeypatch) as folder:
        yield folder
