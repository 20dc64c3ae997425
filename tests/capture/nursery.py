"""Forks each run from one process that has imported torch already, because importing it is what costs.

A job is a line of JSON: the folder to run in, the command line after `gradscope` (or after `--plain`: a script to run
without it), and where output goes. Its own arguments name more modules to import beforehand.
"""

import gc
import importlib
import json
import os
import sys

import gradscope.capture  # noqa: F401 - for its torch
from gradscope.cli import main
from gradscope.probes import program


def run_plainly(script):
    """What `python SCRIPT` would do: the same runner, and no recorder."""
    sys.exit(program.run(program.script(script, ()), lambda: None, lambda: None))


for name in sys.argv[1:]:
    importlib.import_module(name)
gc.collect()
gc.freeze()  # what was imported here must not decide when a child collects garbage
for line in sys.stdin:
    folder, arguments, stdout, stderr = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for stream, path in ((1, stdout), (2, stderr)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        if arguments[0] == "--plain":
            run_plainly(arguments[1])
        main(arguments)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
