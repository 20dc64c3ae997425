"""GS727 names the call that has layers exchanged, where the optimizer is at hand and where it is not further in."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

FLATS = (FAULTS / "no_gradient" / "flats_thinned_out.py").read_text()
CALL, PLACED = "    thin_out(prices, 9)  # expect: GS727\n", "prices.inner, prices.outer = inner, outer"
TRAINS, BEFORE = "    season(prices, optimizer, days=24)\n", "    season(prices, optimizer, 18)\n"
HELPER = "def thin_out(prices, units):"
CALLED = "def pause(prices):\n    thin_out(prices, 9)\n\n\ndef years("
MADE = "    optimizer = torch.optim.SGD(prices.parameters(), lr=0.05, momentum=0.9)\n"
STEPS = "        optimizer.step()  # expect: GS727 fails_at\n"
NAMED = {
    "through another function": ((("def years(", CALLED), (CALL, "    pause(prices)\n")), "pause(prices)"),
    "in a function that is given the optimizer": (
        (
            ("def years(prices):\n" + MADE, "def years(prices, optimizer):\n"),
            ("    years(Prices())", "    prices = Prices()\n" + MADE + "    years(prices, optimizer)"),
        ),
        "thin_out(prices, 9)",
    ),
    "by a scaler": ((("optimizer.step()", "torch.amp.GradScaler(enabled=False).step(optimizer)"),), "thin_out(prices"),
    "a helper that is given the optimizer": (
        ((HELPER, "def thin_out(prices, units, optimizer):"), (CALL, "    thin_out(prices, 9, optimizer)\n")),
        PLACED,
    ),
    "beside the optimizer": ((("    thin_out(prices, 9)", "    prices.outer = nn.Linear(24, 1)"),), "prices.outer = "),
    "in the loop that steps": (
        ((CALL, ""), (STEPS, STEPS + "        if days == 24 and day == 4:\n            thin_out(prices, 9)\n")),
        PLACED,
    ),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "flats.py"
    script.write_text(edited(FLATS, *edits))
    return [(one.code, one.site.source) for one in explained(script).findings]


@pytest.mark.parametrize(("edits", "line"), NAMED.values(), ids=NAMED)
def test_the_line_beside_which_the_optimizer_is_to_be_made_anew(explained, tmp_path, edits, line):
    (source,) = [source for code, source in _told(explained, tmp_path, edits) if code == "GS727"]
    assert source.startswith(line)


def test_that_old_values_were_copied_without_gradients_is_not_told_beside_it(explained, tmp_path):
    assert [code for code, _ in _told(explained, tmp_path, ())] == ["GS727"]


def test_a_model_thinned_out_before_its_optimizer_is_none(explained, tmp_path):
    edits = ((MADE + BEFORE + CALL, CALL + MADE + BEFORE),)
    assert not _told(explained, tmp_path, edits)
