"""What a resumed training keeps frozen is told where the optimizer's state tells that it had been trained."""

from pathlib import Path

import pytest

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "checkpoints"
PROGRAM = (FAULTS / "dialect_resumed_frozen.py").read_text()
THAW = 'model["encoder"].requires_grad_(True)'
RESUMED = 'optimizer.load_state_dict(saved["optimizer"])'
SILENT = {
    "it was not thawed yet": ("THAWED_AT = 5", "THAWED_AT = 14"),
    "it is thawed later": (
        "        words =",
        "        if step == 12:\n            model.requires_grad_(True)\n        words =",
    ),
    "a part is frozen after the load": (
        RESUMED,
        RESUMED + "\nmodel.requires_grad_(True)\nmodel['encoder'].requires_grad_(False)",
    ),
    "the state is not taken back": (RESUMED, "pass"),
    "nothing thaws": (
        THAW,
        "parameter = next(model.parameters())\n            parameter.requires_grad_(not parameter.requires_grad)",
    ),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "dialect.py"
    assert not edit or edit[0] in PROGRAM
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [one.site.source for one in explained(script).findings if one.code == "GS870" and "frozen" in one.message]


def test_the_line_that_freezes_again(explained, tmp_path):
    (line,) = told(explained, tmp_path)
    assert line.startswith('model["encoder"].requires_grad_(False)')


def test_the_load_where_a_parameter_is_frozen_by_itself(explained, tmp_path):
    own = "for one in model['encoder'].parameters():\n        one.requires_grad = False"
    (line,) = told(explained, tmp_path, 'model["encoder"].requires_grad_(False)', own)
    assert line.startswith(RESUMED)


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_is_meant(edit, explained, tmp_path):
    assert told(explained, tmp_path, *edit) == []
