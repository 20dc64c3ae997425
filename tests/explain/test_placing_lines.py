"""GS727 names the line that puts a new layer into the model where it stands apart from the line that makes it."""

import re

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

LETTERS = re.sub(" *# expect.*", "", (FAULTS / "no_gradient" / "letters_of_another_alphabet.py").read_text())
PLACED, WIDER = "    network[2] = wider\n", "    wider = widened(network[2], more)\n"
MADE = "    new = nn.Linear(old.in_features, old.out_features + more)\n"
SEQUENTIAL = "network = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 4))\n"
LETTERS_OF_A_CLASS = """class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(10, 24), nn.Linear(24, 4)

    def forward(self, shapes):
        return self.last(self.first(shapes).tanh())


network = Network()
"""
OF_A_CLASS = ((SEQUENTIAL, LETTERS_OF_A_CLASS), ("torch.randint(network[2].", "torch.randint(network.last."))
WIDER_LAST = "    wider = widened(network.last, more)\n"
PARTS = LETTERS_OF_A_CLASS.replace(
    "self.first, self.last = nn.Linear(10, 24), nn.Linear(24, 4)",
    "self.parts = nn.ModuleDict({'first': nn.Linear(10, 24), 'last': nn.Linear(24, 4)})",
).replace("self.last(self.first(", "self.parts['last'](self.parts['first'](")
NAMED = {
    "at once": (((PLACED, ""), (WIDER, "    network[2] = widened(network[2], more)\n")), "network[2] = widened("),
    "as a module": (((PLACED, "    network.add_module('2', wider)\n"),), "network.add_module('2', wider)"),
    "by a name": (((PLACED, "    setattr(network, str(2), wider)\n"),), "setattr(network, str(2), wider)"),
    "on a device": (((PLACED, "    network[2] = wider.to('cpu')\n"),), "network[2] = wider.to('cpu')"),
    "among others": (
        (*OF_A_CLASS, (WIDER, WIDER_LAST), (PLACED, "    network.last, network.more = wider, more\n")),
        "network.last, network.more = wider, more",
    ),
    "an item of a dict": (
        (
            (SEQUENTIAL, PARTS),
            ("torch.randint(network[2].", "torch.randint(network.parts['last']."),
            (WIDER, "    wider = widened(network.parts['last'], more)\n"),
            (PLACED, "    for name in ('last',):\n        network.parts[name] = wider\n"),
        ),
        "network.parts[name] = wider",
    ),
    "beside a record of it": (
        (("def admit", "seen = {}\n\n\ndef admit"), (PLACED, f"    seen['wider'] = wider\n{PLACED}")),
        "network[2] = wider",
    ),
    "out of a pair": (
        (("    return new\n", "    return new, more\n"), (WIDER, "    wider, _ = widened(network[2], more)\n")),
        "network[2] = wider",
    ),
}


@pytest.mark.parametrize(("edits", "line"), NAMED.values(), ids=NAMED)
def test_the_line_that_puts_it_into_the_model(explained, tmp_path, edits, line):
    script = tmp_path / "letters.py"
    script.write_text(edited(LETTERS, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS727")
    assert found.site.source.startswith(line)
