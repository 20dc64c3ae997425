"""Each program in programs/ prints, says, returns and computes the same with and without gradscope, at every detail.

A new program needs no line here. It prints what must not differ: bits, tensors alive, the compiler's counts.
"""

from subprocess import Popen

import pytest

from tests.capture.side_by_side import finish, start
from tests.torch_versions import skip_where_different
from tests.torture.compare import ONE_THREAD, assert_same, assert_sound, details, options, programs

pytestmark = pytest.mark.timeout(600)  # four runs each, on a machine that may be busy


@pytest.mark.parametrize("program", programs(), ids=lambda path: path.stem)
def test_is_the_same_when_recorded(side_by_side, program, tmp_path):
    skip_where_different(program.stem)
    python = options(program)
    plain = side_by_side.plain(tmp_path, program) if python is None else start(tmp_path, *python, program, **ONE_THREAD)
    for detail in details(program):
        if python is None:
            traced, recording = side_by_side.traced(tmp_path, program, detail=detail, quiet=("--no-explain",))
        else:
            traced, recording = really_traced(tmp_path, python, program, detail)
            plain = finish(plain) if isinstance(plain, Popen) else plain
        assert_same(plain, traced, detail)
        assert_sound(recording)


def really_traced(folder, python, program, detail):
    """Run a program under gradscope in a process of its own."""
    recording = folder / f"{detail}.gscope"
    trace = ("-m", "gradscope", "trace", "--no-explain", "-o", recording, "--detail", detail)
    return finish(start(folder, *python, *trace, program, **ONE_THREAD)), recording
