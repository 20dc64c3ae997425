"""Weight decay that moves what a hook holds: it is that of the group that holds the parameter, and it moves it."""

import sqlite3
from contextlib import closing

import pytest

from gradscope.anomaly import explain
from gradscope.store.reader import load

PROGRAM = '''"""Old words are held by a hook."""

import torch
from torch import nn


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 8)
        self.out = nn.Linear(8, 3)


def trained(model, parameters, **settings):
    return torch.optim.AdamW(
        parameters,
        lr=1e-2,
        **settings,
    )


torch.manual_seed(0)
model = Words()
mask = (torch.arange(20) >= 12).float()[:, None]
model.tokens.weight.register_hook(lambda gradient: gradient * mask)
words = model.tokens.parameters()
plain = {"params": model.out.parameters(), "weight_decay": 0.0}
held = {"params": model.tokens.parameters(), "weight_decay": 0.1}
optimizer = torch.optim.AdamW([plain, held], lr=1e-2)
for step in range(8):
    loss = model.out(model.tokens(torch.arange(20))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
MAKES = "torch.optim.AdamW([plain, held], lr=1e-2)"
HELD = '{"params": model.tokens.parameters(), "weight_decay": 0.1}'
BOTH = 'plain = {"params": model.out.parameters(), "weight_decay": 0.0}\nheld = ' + HELD
DECAYS = {
    "a dict of a list": ("", ""),
    "handed on": (MAKES, "trained(model, [plain, held])"),
    "dicts in a dict": (MAKES, 'torch.optim.AdamW(list({"a": plain, "b": held}.values()))'),
    "by a name": (HELD, "dict(params=words, weight_decay=0.1)"),
    "appended": (MAKES, "None\nboth = [plain]\nboth.append(held)\noptimizer = torch.optim.AdamW(both)"),
    "added": (MAKES, "torch.optim.AdamW([plain])\noptimizer.add_param_group(held)"),
}
AT_THE_CALL = {
    "of all groups": (HELD, '{"params": model.tokens.parameters()}'),
    "of no groups": (MAKES, "torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)"),
    "in a function": (MAKES, "trained(model, model.parameters(), weight_decay=0.1)"),
}
RESTS = {
    "the other decays": (BOTH, BOTH.replace("0.1", "0").replace("0.0", "0.1")),
    "the other leaves it out": (
        BOTH,
        "plain = {'params': [one for one in model.parameters() if one is not model.tokens.weight]}\n"
        "held = {'params': model.tokens.parameters(), 'weight_decay': 0.0}",
    ),
    "by a function": (MAKES, "trained(model, model.parameters(), weight_decay=0.0)"),
    "set later": ("for step", "for one in optimizer.param_groups:\n    one['weight_decay'] = 0.0\nfor step"),
    "drawn anew": ("gradient * mask", "gradient * torch.rand_like(gradient).round()"),
    "put back": (
        "    optimizer.step()",
        "    old = model.tokens.weight.detach()[:12].clone()\n    optimizer.step()\n"
        "    with torch.no_grad():\n        model.tokens.weight[:12] = old",
    ),
}
BY_NUMBERS = {
    "a product of none": ('"weight_decay": 0.1', '"weight_decay": 0.1 * 0'),
    "zeros do not decay": ("mask = (", "model.tokens.weight.data[:12] = 0.0\nmask = ("),
    "nothing is held": (".float()", ".float() + 0.5"),
}
NOT_PLAIN = {
    "of an attribute": (MAKES, "torch.optim.AdamW(vars(model).setdefault('groups', [plain, held]))"),
    "set later": ("for step", "for one in optimizer.param_groups:\n    one['weight_decay'] = 0.2\nfor step"),
}


@pytest.fixture
def told(nursery, tmp_path):
    """The lines that are told of a program, edited; a blind recording has no numbers, as that of an accelerator."""

    def run(edit, blind=False):
        script = tmp_path / "words.py"
        assert edit[0] in PROGRAM
        script.write_text(PROGRAM.replace(*edit))
        _, path = nursery.traced(tmp_path, script)
        if blind:
            with closing(sqlite3.connect(path)) as database, database:
                database.execute("DELETE FROM parameter_update")
                database.execute("DELETE FROM leaf_size")
        with load(path) as recording:
            found = [one for one in explain(recording).findings if one.code == "GS874"]
        return [script.read_text().splitlines()[one.site.line - 1].strip() for one in found]

    return run


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("edit", DECAYS.values(), ids=DECAYS)
def test_the_dict_of_its_group_is_named(told, edit, blind):
    assert [one.partition(" = ")[0] for one in told(edit, blind)] == ["held"]


@pytest.mark.parametrize("edit", AT_THE_CALL.values(), ids=AT_THE_CALL)
def test_the_call_is_named_where_it_asks_for_decay(told, edit):
    assert ["torch.optim.AdamW(" in one for one in told(edit)] == [True]


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("edit", RESTS.values(), ids=RESTS)
def test_nothing_is_told_where_it_stays(told, edit, blind):
    assert told(edit, blind) == []


@pytest.mark.parametrize("edit", BY_NUMBERS.values(), ids=BY_NUMBERS)
def test_nothing_is_told_where_numbers_say_that_it_stays(told, edit):
    assert told(edit) == []


@pytest.mark.parametrize("edit", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_where_the_source_does_not_tell_the_numbers_do(told, edit):
    assert len(told(edit)) == 1
    assert told(edit, blind=True) == []
