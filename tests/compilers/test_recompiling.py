"""What the program compiles is compiled once, whichever of its steps are recorded."""

import pytest

COMPILED = """
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()
model = torch.nn.Linear(4, 4)
loss = torch.compile(lambda x: model(x).tanh().sum(), backend=counter)
for _ in range(8):
    loss(torch.ones(2, 4)).backward()
    with torch.no_grad():
        loss(torch.ones(2, 4))
print(counter.frame_count)
"""


@pytest.mark.parametrize(
    "options", [[], ["--steps", "3:6"], ["--keep-last", "2"], ["--max-overhead", "1%"]], ids=" ".join
)
def test_it_is_compiled_once_with_gradients_and_once_without(options, side_by_side, tmp_path):
    run, _ = side_by_side.traced(tmp_path, "--detail", "ops", *options, "-c", COMPILED)
    assert (run.stdout, run.status) == ("2\n", 0)
