"""What these tests share: programs that run plainly and under gradscope, side by side."""

import pytest

from tests.capture.side_by_side import SideBySide


@pytest.fixture(scope="package")
def side_by_side(tmp_path_factory):
    with SideBySide(tmp_path_factory.mktemp("side_by_side")) as runs:
        yield runs
