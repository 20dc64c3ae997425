"""GS810 names the way on which train() is missed, where eval() and train() are called in one place."""

import pytest

PROGRAM = '''"""Kilns are told apart by their heat curves; one look in five is at held out ones."""

import contextlib

import torch
from torch import nn


def net(*sizes):
    first, last = nn.Linear(sizes[0], 16), nn.Linear(16, sizes[1])
    return nn.Sequential(first, nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), last)


class Kilns:
    def __init__(self):
        self.reader, self.judge, self.best = net(6, 8), net(8, 2), 0.0
        self.optimizer = torch.optim.Adam([*self.reader.parameters(), *self.judge.parameters()], lr=0.01)
        self.rounds = 0

    def parts(self):
        return self.reader, self.judge

    def loss(self, x, y):
        return nn.functional.cross_entropy(self.judge(self.reader(x)), y)

    @torch.no_grad()
    def score(self, x, y):
        value = (self.judge(self.reader(x)).argmax(1) == y).float().mean().item()
        self.rounds += 1
        if self.rounds in {raising}:
            raise ValueError("no score")
        return value

    def rest(self):
        for part in self.parts():
            part.eval()

    def wake(self):
        for part in {woken}:
            part.train()

    @contextlib.contextmanager
    def resting(self):
        self.rest()
        yield
        self.wake()

    def look(self, x, y):
{look}

    def fit(self, rounds, held):
        self.wake()
        for number in range(rounds):
            x = torch.randn(24, 6)
            loss = self.loss(x, (x.sum(1) > 0).long())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if number % 5 == 4:
                with contextlib.suppress(ValueError):
                    self.look(*held)


torch.manual_seed(0)
x = torch.randn(40, 6)
kilns = Kilns()
kilns.judge.train()
kilns.fit(30, (x, (x.sum(1) > 0).long()))
'''
EACH = (
    "for part in self.parts():",
    "    part.eval()",
    "score = self.score(x, y)",
    "{}",
    "for part in self.parts():",
    "    part.train()",
)
CALLED = "self.rest()\nscore = self.score(x, y)\n{}\nself.wake()"
PAIRED = "self.reader.eval(), self.judge.eval()\nscore = self.score(x, y)\n{}\nself.reader.train(), self.judge.train()"
EARLY = "if self.rounds > 2:\n    return score"
AFTER_ALL = "if self.rounds > 2:\n    self.wake()\n    return score"
RAISES, CAUGHT = (3, 4, 5, 6), "try:\n    {}\nexcept ValueError:\n    print('none')"
TRIED = "self.rest()\nscore = self.score(x, y)\nself.wake()"
NESTED = """for kind in range(2):
    self.rest()
    if self.score(x[kind::2], y[kind::2]) > 0 and self.rounds > 3:
        {}
    self.wake()"""
LEAST = "self.rest()\nscore = self.score(x, y)\nif self.rounds < 3:\n    self.wake()"
IN_TURN = "self.reader.eval()\nself.judge.eval()\nself.score(x, y)\nself.judge.train()"
FIRST = "if self.rounds > 9:\n    self.wake()\n    return 0\n" + EARLY
AT_LAST = """self.rest()
try:
    if self.score(x, y) > 0 and self.rounds > 2:
        return 1
finally:
    self.wake()"""
WITHIN = TRIED.replace("\n", "\n    ")
PAIRED_WITHIN = PAIRED.format("").replace("\n", "\n    ")
REST_OF_THEM = "self.parts()[1:]:\n    part.train"
SOME, ALL = "(self.judge,)", "self.parts()"
TOLD = {
    "an early return past a loop": ("\n".join(EACH).format(EARLY), "return score"),
    "past a helper": (CALLED.format(EARLY), "return score"),
    "past two calls on a line": (PAIRED.format(EARLY), "return score"),
    "behind one that does call it": (CALLED.format(FIRST), "return score"),
    "a break": (NESTED.format("break"), "break"),
    "a continue": (NESTED.format("continue"), "continue"),
    "a condition": (LEAST, "self.wake()"),
    "one side of a condition": (f"{LEAST}\nelse:\n    self.best = score", "self.wake()"),
    "an exception": (TRIED, "self.wake()", RAISES),
    "an exception from the first on": (
        CAUGHT.format(PAIRED_WITHIN),
        "self.reader.train(), self.judge.train()",
        (1, 2, 3, 4, 5, 6),
    ),
    "one caught here": (CAUGHT.format(WITHIN), "self.wake()", RAISES),
    "one under a manager": ("with self.resting():\n    score = self.score(x, y)", "self.wake()", RAISES),
    "a part left out": (
        "\n".join(EACH).format("").replace("self.parts():\n    part.train", REST_OF_THEM),
        "part.train()",
    ),
    "a part left out of a helper": (CALLED.format(""), "part.train()", (), SOME),
    "a part left out by hand": (IN_TURN, "self.judge.train()"),
    "an early return at times": (CALLED.format("if self.rounds in (2, 5):\n    return score"), "return score"),
    "an exception at times": (TRIED, "self.wake()", (2, 3, 5)),
    "no way back": ("self.rest()\nreturn self.score(x, y)", "self.rest()"),
}
SILENT = {
    "a condition at times": ("self.rest()\nscore = self.score(x, y)\nif self.rounds % 2:\n    self.wake()",),
    "each way": (CALLED.format(AFTER_ALL),),
    "at last": (AT_LAST, RAISES),
}


def _told(explained, tmp_path, look, raising=(), woken=ALL):
    lines = "\n".join(f"        {line}" for line in look.splitlines())
    script = tmp_path / "kilns.py"
    script.write_text(PROGRAM.replace("{look}", lines).replace("{raising}", repr(raising)).replace("{woken}", woken))
    return {one.site.source for one in explained(script).findings if one.code == "GS810"}


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_the_way_that_misses_train_is_named(explained, tmp_path, told):
    look, line, *rest = told
    assert _told(explained, tmp_path, look, *rest) == {line}


@pytest.mark.parametrize("told", SILENT.values(), ids=SILENT)
def test_a_way_that_comes_by_train_is_not_told(explained, tmp_path, told):
    assert not _told(explained, tmp_path, *told)
