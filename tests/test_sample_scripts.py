"""Every sample script runs alone, from anywhere, and prints the same, recorded or not."""

from pathlib import Path

import pytest

from gradscope.store.reader import load

SAMPLE_SCRIPTS = sorted((Path(__file__).parent.parent / "sample_scripts").glob("*.py"))


@pytest.mark.parametrize("script", SAMPLE_SCRIPTS, ids=lambda script: script.stem)
def test_prints_the_same_with_and_without_gradscope(script, side_by_side, tmp_path):
    plain = side_by_side.plain(tmp_path, script)
    traced, path = side_by_side.traced(tmp_path, script)
    assert plain.status == 0, plain.stderr
    assert plain.stdout.splitlines()[-1].startswith("final loss ")
    assert traced == plain
    with load(str(path)) as recording:
        assert recording.backwards()
        assert recording.faults() == ()


def test_all_are_listed_in_the_readme():
    text = (SAMPLE_SCRIPTS[0].parent / "README.md").read_text()
    assert [one.name for one in SAMPLE_SCRIPTS if f"[{one.name}]({one.name})" not in text] == []
