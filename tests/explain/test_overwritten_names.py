"""GS726 names the line that gives a name anew, where nothing has read what it held; else the one that computed that."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

ROD = (FAULTS / "no_gradient" / "boundary_loss_given_anew.py").read_text()
FIRST = "    loss = 0.5 * (end - 1).square().mean()  # expect: GS726 unused_at\n"
WITH = "    with torch.autograd.set_detect_anomaly(False):\n"
NEXT = "        loss = (inside - torch.sin(3 * place)).square().mean()  # expect: GS726\n"
ADDED = "    loss = torch.zeros(())\n    loss = loss + 0.5 * (end - 1).square().mean()\n"
HELPER = "def at_end(end):\n    return 0.5 * (end - 1).square().mean()\n\n\ndef misses("
LOOP = "    for _ in range(2):\n"
COMPUTED = {
    "the other branch of an if": (
        (FIRST, "    if len(end):\n    " + FIRST + "    else:\n        loss = 0\n"),
        (NEXT, NEXT.replace("loss =", "miss =")),
        ("    return loss\n", "    return miss\n"),
    ),
    "under a condition": ((WITH, "    if len(place) > 3:\n"),),
    "it is shown first": ((WITH, "    shown = loss.detach()\n" + WITH),),
    "under another name": ((FIRST, FIRST.replace("loss =", "miss =")),),
}
GIVEN_ANEW = {
    "as it is": (),
    "a helper returns it": (("def misses(", HELPER), (FIRST, "    loss = at_end(end)\n")),
    "added to what was there": ((FIRST, ADDED),),
    "in a loop": ((WITH, LOOP),),
}


def told(explained, tmp_path, edits):
    script = tmp_path / "rod.py"
    script.write_text(edited(ROD, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS726")
    return found.site.source


@pytest.mark.parametrize("edits", COMPUTED.values(), ids=COMPUTED)
def test_the_line_that_computed_it_is_told(explained, tmp_path, edits):
    assert "(end - 1).square()" in told(explained, tmp_path, edits)


@pytest.mark.parametrize("edits", GIVEN_ANEW.values(), ids=GIVEN_ANEW)
def test_the_line_that_gives_the_name_anew_is_told(explained, tmp_path, edits):
    assert told(explained, tmp_path, edits).startswith("loss = (inside")
