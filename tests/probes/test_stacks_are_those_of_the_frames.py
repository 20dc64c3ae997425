"""Marked frames give the stacks that walking every frame would give, and nobody else notices the marks."""

import asyncio
import bdb
import contextlib
import sys
import threading
import traceback

import pytest
import torch

import gradscope
from gradscope.probes.core.stacks import FrameMark, Stacks


class Rows:
    """Stands for the recording: numbers what is new."""

    def __init__(self):
        self.rows = {}

    def number(self, *row):
        return self.rows.setdefault(row, len(self.rows) + 1)

    frame = stack = number

    def frames(self, stack):
        """The functions and lines of a stack, innermost first."""
        rows = {number: row for row, number in self.rows.items()}
        found = []
        while stack:
            stack, frame = rows[stack]
            found.append(rows[frame][1:])
        return found


class Watch:
    """`here()` takes the caller's stack, and walks all of its frames beside it."""

    def __init__(self):
        self.rows = Rows()
        self.stacks = Stacks(self.rows)
        self.taken = []

    def here(self, value=None):
        frame = sys._getframe(1)
        stack = self.stacks.take(frame, 0)
        self.taken.append((self.rows.frames(stack), list(walked(frame))))
        return value

    def both(self):
        """What was taken, and what was walked."""
        assert self.taken
        return [taken for taken, _ in self.taken], [walk for _, walk in self.taken]


def walked(frame):
    """The lines as Python itself tells them."""
    while frame is not None:
        yield frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back


@pytest.fixture
def watch():
    return Watch()


def test_of_a_helper_that_is_called_from_several_lines(watch):
    def helper(depth):
        watch.here()
        return helper(depth - 1) if depth else watch.here()

    for depth in range(3):
        helper(depth)
        helper(depth)
        watch.here()
    taken, expected = watch.both()
    assert taken == expected


def test_of_a_generator_that_different_lines_resume(watch):
    def steps():
        while True:
            watch.here()
            yield
            watch.here()

    def resume(generator):
        next(generator)

    generator = steps()
    next(generator)
    next(generator)
    resume(generator)
    [next(generator) for _ in range(2)]
    taken, expected = watch.both()
    assert taken == expected


def test_of_coroutines_that_take_turns(watch):
    def helper():
        watch.here()

    async def work():
        for _ in range(3):
            watch.here()
            helper()
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(work(), work())

    asyncio.run(main())
    taken, expected = watch.both()
    assert taken == expected


def test_of_callbacks_context_managers_and_threads(watch):
    @contextlib.contextmanager
    def around():
        watch.here()
        yield watch.here()
        watch.here()

    def key_of(one):
        return watch.here(one)

    def work():
        for key in sorted(range(3), key=key_of):
            with around():
                exec("watch.here(key)", {"watch": watch, "key": key})

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    taken, expected = watch.both()
    assert taken == expected


@pytest.mark.parametrize("is_outermost", [True, False])
def test_ends_at_an_anchor(watch, is_outermost):
    def anchor():
        return around()

    def around():
        return inside()

    def inside():
        return watch.stacks.take(sys._getframe(), base), watch.stacks.take(sys._getframe(2), base)

    base = 0 if is_outermost else watch.rows.number(0, watch.rows.number("file", 1, "base"))
    watch.stacks.anchors.add(id(anchor.__code__))
    for _ in range(2):
        stack, at_anchor = anchor()
        assert [name for _, name in watch.rows.frames(stack)] == ["inside", "around"] + ["base"] * (not is_outermost)
        assert at_anchor == base


def test_of_nodes_in_a_recording(tmp_path):
    """The lines in the file are those that the program reads off its own stack where it calls torch."""

    def spread_out(x):
        return (
            x.sin(),
            traceback.extract_stack(),
        )

    def on_one_line(x):
        return x.cos(), traceback.extract_stack()

    expected = []
    with gradscope.record(tmp_path / "run.gscope"):
        x = torch.ones(3, requires_grad=True)
        for function in (on_one_line, spread_out, on_one_line):
            x, seen = function(x)
            expected.append([(one.lineno, one.name) for one in reversed(seen)])
        x.sum().backward()
    spread = [(expected[1][0][0] - 1, "spread_out"), *expected[1][1:]]  # the operator stands a line above
    with gradscope.load(tmp_path / "run.gscope") as recording:
        taken = [[(site.line, site.function) for site in node.stack] for node in recording.graph().nodes[1:4]]
    assert [stack[:3] for stack in taken] == [expected[2][:3], spread[:3], expected[0][:3]]


def test_of_another_recording_in_the_same_function(watch):
    other = Watch()
    for _ in range(2):
        watch.here()
        other.here()
    for one in (watch, other):
        taken, expected = one.both()
        assert taken == expected


def test_a_traced_frame_keeps_its_tracer(watch):
    def tracer(frame, event, argument):
        return tracer

    def traced():
        watch.here()
        return sys._getframe().f_trace

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert traced() is tracer
    finally:
        sys.settrace(before)
    taken, expected = watch.both()
    assert taken == expected


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger or coverage traces the tests")
def test_a_debugger_stops_in_a_marked_frame_as_in_any_other(watch):
    class Debugger(bdb.Bdb):
        def __init__(self):
            super().__init__()
            self.lines = []

        def user_line(self, frame):
            self.lines.append((frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno))
            self.set_continue() if len(self.lines) > 4 else self.set_step()

    def outer(note):
        note()
        inner(note)
        number = 1
        return number + 1

    def inner(note):
        note()
        debugger.set_trace()
        return 1

    seen = []
    for note in (watch.here, int):
        debugger = Debugger()
        outer(note)
        sys.settrace(None)
        seen.append([place for place in debugger.lines if place[0] in ("outer", "inner")])
    assert seen[0] == seen[1]
    assert ("outer", 3) in seen[0]


def test_a_mark_does_nothing_when_python_calls_it():
    mark = FrameMark(object(), 0, test_a_mark_does_nothing_when_python_calls_it.__code__, False)
    mark[0] = 1
    assert not mark
    assert mark(sys._getframe(), "line", None) is None
