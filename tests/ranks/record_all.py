"""Records every program of a folder, in one process: `record_all.py FOLDER`."""

import runpy
import sys
from pathlib import Path

import gradscope

for script in sorted(Path(sys.argv[1]).glob("*.py")):
    with gradscope.record(script.with_suffix(".gscope"), overwrite=True):
        runpy.run_path(str(script), run_name="__main__")
