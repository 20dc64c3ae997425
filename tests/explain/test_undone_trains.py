"""GS810 tells a helper that takes the train() of a step back, where nothing else may be meant."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

BIRDS = (FAULTS / "training" / "guessed_birds.py").read_text()
EVAL, TRAIN = (
    "        self.listener.eval()  # expect: GS810\n",
    "        self.listener.train()  # expect: GS810 called_at\n",
)
GUESS, QUIET = "self.guess(unnamed)\n", "        with torch.no_grad():\n"
SURE = "        return birds, sure > 0.6\n"
LAYERS, STATION = "nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.3)", "    station = Station()\n"
DRAWS = "        loss = station.night("
ANEW = "        if night == 10:\n            station.optimizer = torch.optim.SGD(station.listener.parameters(), 1e-3)\n"
HEALTHY = {
    "the helper restores the mode": ((SURE, "        self.listener.train()\n" + SURE),),
    "train() follows it": ((GUESS, GUESS + "        self.listener.train()\n"),),
    "no layer depends on the mode": ((LAYERS, "nn.ReLU()"),),
    "in evaluation mode from the start": (("if night >= 10 else None", ""),),
    "a phase with its own optimizer": ((DRAWS, ANEW + DRAWS),),
    "forwards with gradients of its own": ((QUIET, "        with torch.enable_grad():\n"),),
    "a part is put back by itself": ((SURE, "        self.listener.hear[3].train()\n" + SURE),),
    "the step itself calls eval()": (
        (TRAIN, TRAIN + "        if unnamed is not None:\n            self.listener.eval()\n"),
        (EVAL, ""),
    ),
    "the helper only calls eval()": (
        (EVAL, "        self.listener.train()\n"),
        (SURE, "        self.listener.eval()\n" + SURE),
    ),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "birds.py"
    script.write_text(edited(BIRDS, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS810"]


@pytest.mark.parametrize("edits", HEALTHY.values(), ids=HEALTHY)
def test_a_mode_that_may_be_meant_is_not_told(explained, tmp_path, edits):
    assert not _told(explained, tmp_path, edits)


def test_it_is_told_of_some_steps_between_others(explained, tmp_path):
    (source,) = _told(explained, tmp_path, (("night >= 10", "night % 4 == 3"),))
    assert source.startswith("self.listener.eval()")
