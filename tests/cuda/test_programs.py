"""Each program in programs/ prints, says and computes the same on a device when it is recorded, at every detail."""

import pytest

from tests.capture.side_by_side import python
from tests.cuda import PROGRAMS, needs_device
from tests.torture.compare import assert_same, assert_sound, details, programs

pytestmark = [needs_device, pytest.mark.timeout(600)]


@pytest.mark.parametrize("program", programs(PROGRAMS), ids=lambda path: path.stem)
def test_is_the_same_when_recorded(program, tmp_path):
    plain = python(tmp_path, program)
    for detail in details(program):
        recording = tmp_path / f"{detail}.gscope"
        trace = ("-m", "gradscope", "trace", "--no-explain", "-o", recording, "--detail", detail)
        assert_same(plain, python(tmp_path, *trace, program), detail)
        assert_sound(recording)
