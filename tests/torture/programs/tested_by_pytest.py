"""Pytest, whose plugin of ours is imported before it looks for plugins. A warning of its own would stop it."""

# python: -W default

import contextlib
import io
import tempfile
from pathlib import Path

import pytest

with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as told:
    Path(folder, "test_it.py").write_text("import torch\n\n\ndef test_it():\n    assert True\n")
    status = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", folder, folder])
print(status, "Warning" in told.getvalue())
