"""GS725 names the container of layers that are made in a later phase, when tensors are not followed any more."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

PROGRAM = (FAULTS / "no_gradient" / "corrections_of_a_later_phase.py").read_text()
KEEPS, CALL = "    model.corrections = corrections  # expect: GS725\n", "correct(reader, 16)\n"
RETURNS = "    return corrections\n"
FORMS = {
    "returned": (
        (KEEPS + "    model.told.requires_grad_(True)\n", "    model.told.requires_grad_(True)\n" + RETURNS),
        (CALL, "reader.corrections = correct(reader, 16)\n"),
    ),
    "appended to the attribute": (
        ("    corrections = []\n", "    model.corrections = []\n"),
        ("        corrections.append(correction)\n" + KEEPS, "        model.corrections.append(correction)\n"),
    ),
}
NAMED = {"returned": "reader.corrections = correct(reader, 16)", "appended to the attribute": "model.corrections = []"}


def _told(explained, tmp_path, edits):
    script = tmp_path / "melodies.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one for one in explained(script).findings if one.code == "GS725"]


@pytest.mark.parametrize("form", FORMS)
def test_the_container_is_named(explained, tmp_path, form):
    (found,) = _told(explained, tmp_path, FORMS[form])
    assert found.site is not None
    assert found.site.source == NAMED[form]


def test_what_hooks_alone_keep_is_told_without_a_line(explained, tmp_path):
    assert [one.site for one in _told(explained, tmp_path, ((KEEPS, ""),))] == [None]


def test_a_list_of_registered_layers_is_not_told(explained, tmp_path):
    assert not _told(explained, tmp_path, ((KEEPS, "    model.kept = nn.ModuleList(corrections)\n" + KEEPS),))
