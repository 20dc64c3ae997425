"""Forks each run from one process that has imported torch already, because importing it is what costs.

A job is a line of JSON: the folder to run in, the command line after `gradscope` (or after `--plain`: a script to run
without it, and its arguments), the file that is its input, and where output goes. The nursery's own arguments name more
modules to import beforehand; with `--skip-end` among them, children leave out the end of Python itself, which takes
longer than a small program. A run that hangs is ended, and its stack stands in its stderr: one such must not hold up
all that come after.
"""

import atexit
import contextlib
import faulthandler
import gc
import importlib
import json
import os
import signal
import sys
import threading

import gradscope.anomaly
import gradscope.arming.recorder
import gradscope.capture
import gradscope.commands.trace  # noqa: F401 - what each run would import
from gradscope.cli import main
from gradscope.launch import program
from tests.capture.side_by_side import SECONDS, SKIP_END


def run_plainly(script, *arguments):
    """What `python SCRIPT ARGUMENTS` would do: the same runner, and no recorder."""
    sys.exit(program.run(program.script(script, arguments), lambda: None, lambda: None))


def run(arguments):
    """Run what a job asks for."""
    if arguments[0] == "--plain":
        run_plainly(*arguments[1:])
    main(arguments)


def without_the_end(arguments):
    """Run it, and what Python runs at its end, but take nothing apart."""
    status = 1
    try:
        run(arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else end.code is not None
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def end_the_child():
    """End a run that hangs, unless it has just ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGABRT)


finish = without_the_end if SKIP_END in sys.argv else run
for name in set(sys.argv[1:]) - {SKIP_END}:
    importlib.import_module(name)
gc.collect()
gc.freeze()  # what was imported here must not decide when a child collects garbage
child = 0
signal.signal(signal.SIGALRM, lambda number, frame: end_the_child())
for line in sys.stdin:
    folder, arguments, stdin, stdout, stderr = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.chdir(folder)
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        for stream, path in ((1, stdout), (2, stderr)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        faulthandler.enable()
        finish(arguments)
    signal.alarm(SECONDS)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(0)
    print(status, flush=True)
