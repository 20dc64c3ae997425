"""Trials on another device than the CPU. The meta device has no values, but tensors move to it all the same."""

import pytest
import torch

from gradscope.errors import UsageError
from gradscope.functions.check import check_function
from gradscope.functions.device import check_device
from gradscope.functions.inputs.guess import guess
from gradscope.functions.inputs.sample import make_sample, tensors_in
from gradscope.functions.subject import read
from gradscope.functions.trials import run
from gradscope.functions.trials.run import TrialPlan, make_benches
from tests.functions.corpus.base import Square

ABSENT = "xpu:7"


def subject():
    return read("Square", Square, True)


def devices(args):
    return {tensor.device.type for tensor in tensors_in(list(args))}


def test_given_inputs_move_to_the_device_with_what_is_inside_containers():
    sample = make_sample((torch.rand(3, requires_grad=True), [torch.rand(2), {"scale": torch.rand(2)}], 2))
    (bench,) = make_benches(TrialPlan(subject(), (), (sample,), device="meta"))
    assert devices(bench.sample.args) == devices(bench.arguments()) == {"meta"}
    assert bench.sample.args[0].requires_grad


def test_directions_and_weights_are_made_on_the_device():
    (bench,) = make_benches(TrialPlan(subject(), (), (make_sample((torch.rand(3),)),), device="meta"))
    assert devices(bench.directions()) == devices(bench.cotangents(bench.inputs())) == {"meta"}


def test_guesses_are_made_on_the_device(monkeypatch):
    monkeypatch.setattr("gradscope.functions.inputs.guess.finite", lambda value: True)
    samples = guess(subject(), device="meta")
    assert [devices(sample.args) for sample in samples] == [{"meta"}, {"meta"}]


def test_a_device_that_is_here_is_taken():
    check_device("cpu")
    check_device("cpu:0")


def test_a_device_that_is_not_here_is_one_sentence():
    with pytest.raises(UsageError, match=f"there is no device '{ABSENT}' here: "):
        check_device(ABSENT)


def test_a_device_without_values_is_refused():
    with pytest.raises(UsageError, match="meta"):
        check_device("meta")


def test_asking_for_a_device_leaves_this_process_without_it():
    with pytest.raises(UsageError):
        check_device(ABSENT)
    assert not torch.cuda.is_initialized()


def test_cuda_in_use_sends_the_trials_into_this_process(monkeypatch):
    """A fork of a process that has used CUDA cannot use it; torch says so in these words."""
    parent = run.os.getpid()

    def make(plan):
        if run.os.getpid() != parent:
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, ...")
        return make_benches(plan)

    monkeypatch.setattr(run, "make_benches", make)
    (report,) = check_function(Square).subjects
    assert "isolation" in " ".join(report.not_checked)
    assert report.trials["gradcheck"].status.value == "ok"
