"""Launchers of frameworks under `gradscope trace`: two processes each, which print the same; each has a recording."""

import importlib.util
import os

import pytest

from gradscope.model.choice import Choice
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings
from gradscope.store.reader import load
from tests.capture.side_by_side import ROOT, finish, start

MINUTES = 5  # for one run: the frameworks take half a minute to import on a busy machine
START = (ROOT / "gradscope_autostart.pth").read_text()
BITS = """
import os, torch, warnings
warnings.simplefilter("ignore")
def write(model):
    bits = [tensor.detach().flatten().view(torch.uint8).tolist() for tensor in model.parameters()]
    with open(f"rank{os.environ['LOCAL_RANK']}.txt", "w") as stream: print(bits, file=stream)
"""
ACCELERATE = (
    BITS
    + """
from accelerate import Accelerator
torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 1)
data = torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=2)
model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), data)
for batch in data:
    optimizer.zero_grad()
    accelerator.backward(model(batch).square().mean())
    optimizer.step()
write(model)
accelerator.end_training()
"""
)
LIGHTNING = (
    BITS
    + """
import logging
logging.disable(logging.CRITICAL)
import lightning as L
class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, number):
        return self.layer(batch).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
if __name__ == "__main__":
    L.seed_everything(0)
    model, data = Model(), torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=2)
    L.Trainer(
        max_epochs=1, accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    ).fit(model, data)
    write(model)
"""
)
LAUNCH = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", "0")
NAMES = ("accelerate", "lightning")
PROGRAMS = {
    "accelerate": (ACCELERATE, (*LAUNCH, "train.py"), ()),
    "lightning": (LIGHTNING, ("train.py",), ("--children",)),  # the program itself is rank 0, and starts the other
}
BACKWARDS = 4  # of each rank: half of eight batches


@pytest.fixture(scope="module", params=NAMES)
def runs(request, tmp_path_factory):
    """The plain run, the traced one, and the folders in which they were."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"needs {request.param}")
    program, command, options = PROGRAMS[request.param]
    ended = []
    for start_with in ((), ("-m", "gradscope", "trace", "--no-explain", *options)):
        folder = tmp_path_factory.mktemp(request.param)
        (folder / "sitecustomize.py").write_text(START)
        (folder / "train.py").write_text(program)
        path = os.pathsep.join((str(ROOT), str(folder)))
        more = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}
        ended.append((finish(start(folder, *start_with, *command, **more), 60 * MINUTES), folder))
    return ended


def recordings(folder):
    return sorted(folder.rglob("*.gscope"))


@pytest.mark.timeout(3 * 60 * MINUTES)
def test_ranks_do_and_print_the_same(runs):
    (plain, plainly), (traced, folder) = runs
    assert plain.status == 0, plain.stderr
    assert (traced.stdout, traced.status) == (plain.stdout, 0), traced.stderr
    written = [{path.name: path.read_text() for path in one.glob("rank*.txt")} for one in (plainly, folder)]
    assert written[0].keys() == {"rank0.txt", "rank1.txt"}
    assert written[1] == written[0]


@pytest.mark.timeout(3 * 60 * MINUTES)
def test_each_rank_has_a_recording(runs):
    _, (_, folder) = runs
    found = []
    for path in recordings(folder):
        with load(path) as recording:
            found.append((recording.run().rank, recording.run().world_size, len(recording.backwards())))
    assert sorted(found) == [(0, 2, BACKWARDS), (1, 2, BACKWARDS)]


@pytest.mark.timeout(3 * 60 * MINUTES)
def test_nothing_is_found_in_a_healthy_run(runs):
    _, (_, folder) = runs
    assert findings(gather(recordings(folder)), Choice()) == ()
