"""A device that fails leaves the same status and error, and a recording that can be read."""

import pytest

from tests.capture.side_by_side import python
from tests.cuda import needs_device
from tests.torture.compare import DETAILS, assert_sound

pytestmark = needs_device
OUT_OF_RANGE = """
import torch
table = torch.nn.Embedding(10, 4).cuda()
for step in range(5):
    table(torch.tensor([step, 12 if step == 3 else 1], device="cuda")).sum().backward()
    torch.cuda.synchronize()
"""


@pytest.mark.parametrize("detail", DETAILS)
def test_an_assertion_in_a_kernel(detail, tmp_path):
    """After it, whatever is asked of the device raises: so does what gradscope asks."""
    script, recording = tmp_path / "out_of_range.py", tmp_path / "run.gscope"
    script.write_text(OUT_OF_RANGE)
    plain = python(tmp_path, script)
    traced = python(tmp_path, "-m", "gradscope", "trace", "-o", recording, "--detail", detail, script)
    own = [line for line in traced.stderr.splitlines() if "AcceleratorError" in line or "RuntimeError" in line]
    theirs = [line for line in plain.stderr.splitlines() if "AcceleratorError" in line or "RuntimeError" in line]
    assert (traced.status, own[:1]) == (plain.status, theirs[:1])
    assert_sound(recording)
