"""Of a step that changed what a backward needed, the step is named, or the line that reads an old result after it."""

from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "sample_scripts/faults/inplace/listener_of_old_codes.py"
STEP = "self.writes.step()  # expect: GS701 modified_at"
HANDED = "self.learn(heard, noise)"
LOSS = "nn.functional.softplus(-heard).mean()"
AT_THE_STEP = {
    "its loss was computed before": [(STEP, f"old = {LOSS}\n        {STEP}"), (HANDED, "self.learn(old, noise)"),
                                     (LOSS + " +", "heard +")],
    "the same optimizer is cleared": [("self.listens.zero_grad()", "self.writes.zero_grad()")],
    "it holds them too": [("SGD(self.listener.parameters()", "SGD([*self.listener.parameters(), *ALSO]"),
                           ("*ALSO", "*self.writer.parameters()")],
    "nothing is cleared": [("        self.listens.zero_grad()\n", "")],
    "no call had run it": [("heard.mean().backward(retain_graph=True)", "self.writer(words).mean().backward()")],
}  # fmt: skip


def told(explained, tmp_path, *edits):
    text = SAMPLE.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    script = tmp_path / "game.py"
    script.write_text(text)
    return [text.splitlines()[one.site.line - 1] for one in explained(script).findings if one.code == "GS701"]


@pytest.mark.parametrize("edits", AT_THE_STEP.values(), ids=AT_THE_STEP)
def test_the_step_is_named(explained, tmp_path, edits):
    (line,) = told(explained, tmp_path, *edits)
    assert "self.writes.step()" in line


def test_the_line_that_hands_it_over_is_named(explained, tmp_path):
    (line,) = told(explained, tmp_path)
    assert HANDED in line


def test_the_line_that_reads_it_in_the_function_that_steps_is_named(explained, tmp_path):
    edits = [("noise = self.listener", f"old = {LOSS}\n        noise = self.listener"), (LOSS + " +", "heard +")]
    (line,) = told(explained, tmp_path, *edits[:1], (HANDED, "self.learn(old, noise)"), edits[1])
    assert line.strip() == f"old = {LOSS}"
