"""The corpus on a device: lines of NaN and Inf are named as on a CPU, or one that comes later, and twins are silent.

Scripts that cannot run there, because they mix devices when tensors are made on one by default, are skipped.
"""

from pathlib import Path

import pytest

from gradscope.anomaly import explain
from gradscope.model.finding import Severity
from gradscope.store.reader import load
from tests.capture.side_by_side import SKIP_END, SideBySide
from tests.cuda import needs_device
from tests.explain.corpus import Fault, twins
from tests.explain.test_accelerators import CODES, FOUND, LATER, first

pytestmark = needs_device
HERE = ("device", "CUDA", "generator")  # words of errors that say that a script is none for a device
LACKS = "is not supported for CuDNN RNNs"  # in the error of a second derivative, which a CPU's RNN has


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """Trace a script on the device, and explain its recording."""
    preloaded = ("torch._dynamo", "tests.cuda.on_device", "tests.capture.all_heard", SKIP_END)
    with SideBySide(tmp_path_factory.mktemp("far"), *preloaded, OMP_NUM_THREADS="1") as runs:

        def run(script: Path):
            done, path = runs.traced(script.parent, script)
            last = done.stderr.strip().splitlines()[-1:]
            if LACKS in done.stderr:
                pytest.skip(LACKS)
            if any(word in line for line in last for word in HERE):
                pytest.skip(last[0])
            with load(path) as recording:
                assert recording.faults() == ()
                return explain(recording)

        yield run


@pytest.mark.parametrize("fault", FOUND, ids=lambda fault: fault.name)
def test_the_cause_is_named_first(fault: Fault, explained) -> None:
    mark, found = first(fault), explained(fault.script).findings[0]
    lines = {mark.line, mark.line + LATER.get(fault.name, 0)}
    assert found.code in {mark.code, CODES.get(fault.name)}
    assert found.site.file == mark.file
    assert found.site.line in lines


@pytest.mark.parametrize("script", twins(), ids=lambda script: "/".join(script.with_suffix("").parts[-2:]))
def test_nothing_is_found_in_a_healthy_run(script: Path, explained) -> None:
    assert explained(script).at_least(Severity.WARNING) == ()
