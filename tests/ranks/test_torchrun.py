"""Two and four ranks under a traced torchrun: the same to the last bit, a recording of each, and nothing is found."""

from pathlib import Path

import pytest
import torch

from gradscope.model.choice import Choice
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings
from gradscope.store.reader import load
from tests.capture.side_by_side import ROOT, finish, start

PROGRAM = Path(__file__).with_name("launched_programs.py")
LAUNCHER = ("-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node")
LIMIT = 480  # seconds for one run, on a machine that is very busy
START = (ROOT / "gradscope_autostart.pth").read_text()

pytestmark = [
    pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed"),
    pytest.mark.timeout(3 * LIMIT),
]


@pytest.fixture(scope="module", params=[2, 4])
def runs(request, tmp_path_factory):
    """How many ranks there are, and the plain run and the traced one, each with its folder."""
    ended = []
    for before in ((), ("-m", "gradscope", "trace", "--no-explain")):
        folder = tmp_path_factory.mktemp(f"torchrun{request.param}")
        (folder / "sitecustomize.py").write_text(START)
        path = f"{ROOT}:{folder}"
        ranks = start(folder, *before, *LAUNCHER, request.param, PROGRAM, PYTHONPATH=path, OMP_NUM_THREADS="1")
        ended.append((finish(ranks, LIMIT), folder))
    return request.param, *ended


def recordings(folder):
    return sorted(folder.rglob("*.gscope"))


def test_ranks_do_and_print_the_same(runs):
    world, (plain, plainly), (traced, folder) = runs
    assert plain.status == 0, plain.stderr
    assert (traced.stdout, traced.status) == (plain.stdout, 0), traced.stderr
    for rank in range(world):
        assert (folder / f"rank{rank}.txt").read_bytes() == (plainly / f"rank{rank}.txt").read_bytes()


def test_each_rank_has_a_recording_without_a_fault(runs):
    world, _, (_, folder) = runs
    found = []
    for path in recordings(folder):
        with load(path) as recording:
            assert recording.faults() == ()
            found.append((recording.run().rank, recording.run().world_size))
    assert sorted(found) == [(rank, world) for rank in range(world)]


def test_nothing_is_found(runs):
    _, _, (_, folder) = runs
    assert findings(gather(recordings(folder)), Choice()) == ()
