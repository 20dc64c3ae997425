"""A training of 5,000 steps is recorded from step 3,000 on, watched meanwhile, and its late fault explained."""

from tests.arming.armed_run import WAITING, ArmedRun
from tests.capture.side_by_side import finish, python

TRAIN = """
for step in range(5000):
    gate(step)
    x = torch.randn(8, 4)
    predicted = model(x)
    loss = predicted.square().mean()
    if step >= 3004:
        drift = predicted - predicted.detach()
        loss = loss + drift.square().sum().sqrt()  # the fault
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0: print(step, loss.item().hex())
print(*(one.detach().sum().item().hex() for one in model.parameters()))
"""


def test_a_late_fault_is_explained_from_ten_steps(tmp_path):
    program = WAITING + TRAIN
    line = 1 + program.splitlines().index(next(one for one in program.splitlines() if "the fault" in one))
    run = ArmedRun(tmp_path, "--arm", program=program, gates=(2999, 3006))
    run.wait_for(2999)
    asking = run.gradscope("record", "--at", "3000", "--steps", "10", "--detail", "full")
    assert "10 steps from step 3,000 on" in asking.stderr.readline()
    run.let_on(2999)
    run.wait_for(3006)
    watched = finish(run.gradscope("watch", "--once", str(run.pid)))
    assert watched.stdout.startswith("run.s3000.gscope  being written  step 3,00")
    ended = run.end()
    recorded = finish(asking)
    assert (recorded.status, "GS731" in recorded.stderr) == (0, True), recorded.stderr
    told = python(tmp_path, "-m", "gradscope", "explain", "run.s3000.gscope")
    assert told.status == 1
    assert f"train.py:{line}" in told.stdout
    plain = python(tmp_path, "train.py", OMP_NUM_THREADS="1")
    assert (ended.stdout, ended.status) == (plain.stdout, plain.status)
    assert "nan" in plain.stdout
