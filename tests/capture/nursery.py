"""Forks each traced run from one process that has imported torch already, because importing it is what costs.

A job is a line of JSON: the folder to run in, the command line after `gradscope`, and where output goes.
"""

import json
import os
import sys

import gradscope.capture  # noqa: F401 - for its torch
from gradscope.cli import main

for line in sys.stdin:
    folder, arguments, stdout, stderr = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for stream, path in ((1, stdout), (2, stderr)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        main(arguments)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
