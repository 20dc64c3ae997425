"""The benchmark of detection runs: on one fault, and on recordings of a few steps."""

from tests.capture.side_by_side import ROOT, python

DETECTION = ROOT / "benchmarks" / "detection.py"


def test_a_fault_and_its_twin_have_the_same_verdict_however_they_are_traced(tmp_path):
    run = python(tmp_path, DETECTION, "verdicts", "--jobs", "1", "--only", "growth/accumulated_loss")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.endswith("2 of 2 scripts have the same verdict in each way; 1 have errors or warnings\n")


def test_explaining_is_timed_for_each_program_whose_graphs_vary(tmp_path):
    run = python(tmp_path, DETECTION, "explain", "--steps", "3", "--rounds", "1")
    assert (run.status, run.stderr) == (0, "")
    rows = run.stdout.splitlines()[-3:]
    assert [row.split(",")[0] for row in rows] == ["| text", "| MAML", "| recurrent"]
