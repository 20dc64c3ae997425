"""Numbers, warnings and words of a traced program are those of a plain one, at every detail."""

import pytest

from tests.capture.side_by_side import finish, start

NUMBERS = """
import warnings, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.GELU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    optimizer.zero_grad()
    x = torch.randn(16, 4, requires_grad=True)
    loss = model(x).square().mean()
    slope, = torch.autograd.grad(loss, x, create_graph=True)
    (loss + slope.norm()).backward()
    optimizer.step()
    print(loss.item().hex(), [weight.grad.double().sum().item().hex() for weight in model.parameters()])
print(torch.rand(()).item().hex(), hash(tuple(torch.get_rng_state().tolist())))
for _ in range(2): warnings.warn("said once")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = torch.ones(2, requires_grad=True).exp()
    try: y.add_(1).sum().backward()
    except RuntimeError as error: print(error)
print([str(one.message) for one in caught])
with torch.autograd.set_detect_anomaly(True):
    try: torch.zeros(1, requires_grad=True).sqrt().mul(0).backward()
    except RuntimeError as error: print(error)
print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
"""
UNCAUGHT = """
import threading, torch
class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(
            x)
model = torch.nn.Sequential(Inner())
thread = threading.Thread(target=lambda: model(torch.ones(4)), name="worker")
thread.start()
thread.join()
def hook(gradient):
    return gradient @ torch.ones(7)
try:
    model(torch.ones(5))
except RuntimeError:
    y = (model(torch.ones(2, 3)) * 2)
    y.register_hook(hook)
    y.sum().backward()
"""
FORMATTED = """
import traceback, torch
model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(3, 3)))
def broken():
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    (y * 2).sum().backward()
for fail in (lambda: model(torch.ones(4)), broken):
    try: fail()
    except RuntimeError: print(traceback.format_exc())
"""
DETAILS = ("nodes", "ops", "full")


@pytest.fixture(scope="module")
def results(side_by_side, tmp_path_factory):
    """Every program's plain run, and its traced ones by detail."""
    folder = tmp_path_factory.mktemp("results")
    programs = {"results": NUMBERS, "uncaught": UNCAUGHT, "formatted": FORMATTED}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    plain = {name: start(folder, f"{name}.py") for name in programs}
    traced = {
        (name, detail): side_by_side.traced(folder, f"{name}.py", detail=detail)[0]
        for name in programs
        for detail in DETAILS
    }
    return {name: finish(process) for name, process in plain.items()}, traced


@pytest.mark.parametrize("detail", DETAILS)
def test_numbers_warnings_and_messages_are_the_same(results, detail):
    plain, traced = results
    assert traced["results", detail] == plain["results"]
    assert plain["results"].status == 0


@pytest.mark.parametrize("detail", DETAILS)
def test_uncaught_exceptions_look_the_same(results, detail):
    plain, traced = results
    assert traced["uncaught", detail] == plain["uncaught"]
    assert "in hook" in plain["uncaught"].stderr
    assert "thread worker" in plain["uncaught"].stderr


def test_an_exception_that_the_program_formats_itself_is_the_same_at_nodes(results):
    plain, traced = results
    assert traced["formatted", "nodes"] == plain["formatted"]
