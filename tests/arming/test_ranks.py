"""All ranks of a run on a machine begin with the same step."""

import re

from gradscope.store.reader import load
from tests.arming.armed_run import channels, wait_until
from tests.capture.side_by_side import ROOT, TORCHRUN, finish, start

RANKS = """
import os, pathlib, torch, torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel
distributed.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
going = torch.ones(())
while going:
    model(torch.randn(3, 2)).sum().backward()
    going.fill_(not pathlib.Path("end").exists())
    distributed.broadcast(going, 0)
distributed.destroy_process_group()
"""


def test_ranks_begin_with_the_same_step(tmp_path, channel_folder):
    site, folder = tmp_path / "site", tmp_path / "folder"
    site.mkdir()
    folder.mkdir()
    (site / "sitecustomize.py").write_text((ROOT / "gradscope_autostart.pth").read_text())
    (tmp_path / "ranks.py").write_text(RANKS)
    own = {"PYTHONPATH": f"{ROOT}:{site}", "GRADSCOPE_TRACE": "folder/:arm", **channels()}
    run = start(tmp_path, *TORCHRUN, "ranks.py", **own)
    wait_until(lambda: len(list(channel_folder.iterdir())) == 2, run)
    for _ in range(2):
        done = finish(start(tmp_path, "-m", "gradscope", "record", "--steps", "3", "--ranks", "all", **channels()))
        assert done.status == 0, done.stderr
    (tmp_path / "end").touch()
    assert finish(run).status == 0
    names = sorted(path.name for path in folder.iterdir())
    begun = [re.fullmatch(r"ranks\.r0000(\d)-of-00002\.\d+\.s(\d+)\.gscope", name).groups() for name in names]
    first, second = ({step for rank, step in begun if rank == which} for which in "01")
    assert first == second
    assert len(first) == 2
    for name in names:
        with load(folder / name) as recording:
            assert len(recording.backwards()) == 3
