"""Each trigger on a program that meets it, armed and as a ring, and on one that does not."""

import signal

import pytest

from gradscope.store.reader import load
from tests.arming.armed_run import WAITING

TRAIN = """
import os, signal
what = sys.argv[1]
budgets = sys.modules.get("gradscope.arming.budget")
if budgets:  # every step is looked at, however busy the machine is
    budgets.Budget.is_due = lambda self, now: True
for step in range(70):
    optimizer.zero_grad()
    predicted = model(torch.randn(8, 4))
    loss = predicted.square().mean()
    met = step == 50
    if met and what == "nonfinite": loss = loss * float("nan")
    if met and what == "loss": loss = loss + 1e6
    if met and what == "gradient":
        loss = loss * 1 + (predicted - predicted.detach()).sum() * 1e6
    if met and what == "slow": time.sleep(0.5)
    if met and what == "sigterm": os.kill(os.getpid(), signal.SIGTERM)
    if met and what == "exception":
        try:
            hidden = predicted.exp()
            total = hidden.sum()
            hidden.add_(1)
            total.backward()
        except RuntimeError:
            pass
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""
ARMED = ("nonfinite", "gradient", "loss", "slow", "exception")
RING = ("--keep-last", "5")


@pytest.fixture
def run(side_by_side, tmp_path):
    """Of modes, triggers and what happens: the run of a program to which it happens."""

    def run(modes, kinds, what):
        (tmp_path / "train.py").write_text(WAITING + TRAIN)
        chosen = [part for kind in kinds for part in ("--trigger", kind)]
        command = ["trace", "-o", "run.gscope", "--no-explain", *modes, *chosen, "train.py", what]
        return side_by_side.gradscope(tmp_path, *command)

    return run


def steps_of(path):
    with load(path) as recording:
        return [call.step for call in recording.backwards()], recording.run().trigger


@pytest.mark.parametrize("kind", ARMED)
def test_an_armed_program_records_its_next_steps(tmp_path, side_by_side, run, kind):
    done = run(["--arm"], [kind], kind)
    [path] = tmp_path.glob("*.gscope")
    steps, why = steps_of(path)
    assert steps[0] == 51
    assert f"because {why} -> " in done.stderr
    assert done.stdout == side_by_side.plain(tmp_path, "train.py", kind).stdout


@pytest.mark.parametrize("kind", ARMED)
def test_a_ring_keeps_its_last_steps_and_goes_on(tmp_path, run, kind):
    assert run(RING, [kind], kind).status == 0
    [path] = tmp_path.glob("run.s*.gscope")
    assert len(steps_of(path)[0]) == 5
    assert steps_of(tmp_path / "run.gscope")[0][-1] >= 69


@pytest.mark.parametrize("modes", [["--arm"], RING], ids=["armed", "ring"])
def test_a_program_that_meets_none(tmp_path, run, modes):
    done = run(modes, [*ARMED, *([] if modes == ["--arm"] else ["sigterm"])], "nothing")
    assert (done.status, list(tmp_path.glob("run.s*.gscope"))) == (0, [])


def test_the_last_steps_before_sigterm_and_the_same_end(tmp_path, run):
    assert run(RING, ["sigterm"], "sigterm").status == -signal.SIGTERM
    assert steps_of(tmp_path / "run.s50.gscope") == ([45, 46, 47, 48, 49], "SIGTERM came")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--arm", "--trigger", "sigterm"], "no step follows on SIGTERM that could be recorded"),
        (["--trigger", "slow"], "--trigger has nothing to keep here"),
        (["--arm", "--trigger", "slow=1"], "'1' is no number above 1, as slow=K takes it"),
        (["--arm", "--trigger", "nonfinite=3"], "the trigger nonfinite takes no number"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, run, options, sentence):
    done = run(options, [], "nothing")
    assert (done.status, done.stderr.splitlines()[0]) == (2, f"gradscope: {sentence}")
    assert list(tmp_path.glob("*.gscope")) == []
