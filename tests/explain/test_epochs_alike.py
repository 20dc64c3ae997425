"""GS906 tells an optimizer that each epoch of new data makes anew, unless the source tells the epochs apart."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

ARM = (FAULTS / "training" / "reaches_learned_from_new_draws.py").read_text()
MAKES = "    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)  # expect: GS906\n"
LOOP = "    for epoch in range(5):  # expect: GS906 called_at\n"
CALLS = "errors.append(train_epoch(model, 6))"
DRAWS = "reach(32)"
HANDED = (("train_epoch(model, batches)", "train_epoch(model, optimizer, batches)"), (MAKES, ""))
HERE = (
    *HANDED,
    (LOOP, f"{LOOP}    {MAKES}"),
    (CALLS, "errors.append(train_epoch(model, optimizer, 6))"),
)
STAGE = (
    ("train_epoch(model, batches)", "train_epoch(model, batches, stage)"),
    (DRAWS, "reach(32 + stage)"),
    (CALLS, "errors.append(train_epoch(model, 6, stage))"),
)
LONG = ("def main():", "def main(each=3):")
TOLD = {
    "in the loop": HERE,
    "stages": (*STAGE, (LOOP, f"{LOOP}        stage = epoch // 2\n")),
    "stages of a length": (*STAGE, LONG, (LOOP, f"{LOOP}        stage = epoch // each\n")),
    "evaluated": (
        ("        print(epoch", "        error = evaluate(model)\n        print(error, epoch"),
        (
            "def main():",
            "@torch.no_grad()\ndef evaluate(model):\n    return model(reach(8)[0]).mean()\n\n\ndef main():",
        ),
    ),
}
SILENT = {
    "a stage each": (*STAGE, ("def main():", "def main(each=1):"), (LOOP, f"{LOOP}        stage = epoch // each\n")),
    "a length that is handed over": (
        *STAGE,
        LONG,
        ("\nmain()", "\nmain(1)"),
        (LOOP, f"{LOOP}        stage = epoch // each\n"),
    ),
    "the count tells them apart": (*STAGE, (LOOP, f"{LOOP}        stage = epoch + 1\n")),
    "the count itself": (*STAGE[:2], (CALLS, "errors.append(train_epoch(model, 6, epoch))")),
    "a drawn task": (*STAGE, (LOOP, f"{LOOP}        stage = int(torch.randint(9, ()))\n")),
    "a task drawn inside": (
        (MAKES, f"{MAKES}    length = float(torch.rand(()))\n"),
        (DRAWS, "reach(32 + int(9 * length))"),
    ),
    "data of an epoch": ((MAKES, f"{MAKES}    angles, hand = reach(32)\n"), ("        angles, hand = reach(32)\n", "")),
    "something moves on": ((LOOP, f"{LOOP}        errors.insert(0, 0.0)\n"),),
    "a state is moved on": ((LOOP, f"{LOOP}        model.task = 3\n"),),
    "trials": (("for epoch in", "for trial in"), ("print(epoch", "print(trial")),
    "begun afresh": ((MAKES, f"    # the state is reset: each epoch restarts\n{MAKES}"),),
    "where a condition says so": (*HANDED, *HERE[3:], (LOOP, f"{LOOP}        if epoch % 1 == 0:\n        {MAKES}")),
}


def _found(explained, path, edits):
    script = path / "arm.py"
    script.write_text(edited(ARM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS906"]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_epochs_that_are_alike(explained, tmp_path, edits):
    (source,) = _found(explained, tmp_path, edits)
    assert source.startswith("optimizer = torch.optim.")


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_epochs_that_may_be_trainings_of_their_own(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == []
