"""The benchmark of published Functions says where it could not measure."""

from tests.capture.side_by_side import ROOT, python

REAL = ROOT / "benchmarks" / "real_functions.py"


def test_a_labelled_function_that_is_not_there_fails_the_measurement(tmp_path):
    run = python(tmp_path, REAL, "measure", str(tmp_path), "--only", "torch_struct.semirings.sample")
    assert run.status == 1
    assert "2 labelled Functions are not there; is everything fetched?" in run.stderr
    assert "torch_struct.semirings.sample._SampledLogSumExp: not found" in run.stderr
