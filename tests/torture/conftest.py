"""What the torture tests share: one process that forks all runs."""

import pytest

from tests.capture.side_by_side import SideBySide
from tests.torture.compare import ONE_THREAD


@pytest.fixture(scope="session")
def side_by_side(tmp_path_factory):
    slow_to_import = ("torch._dynamo", "torch._functorch.aot_autograd", "torch._higher_order_ops", "torch.distributed")
    with SideBySide(tmp_path_factory.mktemp("torture"), *slow_to_import, **ONE_THREAD) as runs:
        yield runs
