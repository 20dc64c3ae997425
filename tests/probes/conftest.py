"""What the tests of probes share."""

import sys

import pytest
import torch

import gradscope
from gradscope.store.reader import load


@pytest.fixture
def recorded(tmp_path):
    """Record a function; the recording."""

    def run(function, detail="ops"):
        path = tmp_path / "run.gscope"
        with gradscope.record(path, detail=detail, overwrite=True):
            function()
        return load(path)

    return run


@pytest.fixture(autouse=True)
def nothing_was_compiled():
    """What repeats is watched where another test has compiled something."""
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
